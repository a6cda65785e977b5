module.exports = {
  App: { locale: 'en_en' },
  locale: 'en_en',
  lang: { en_en: 'english' },
  watch: false,
  // Without formidable's plugin for JSON, nodefony hands the body on as it came. With it, broken JSON is never answered: the
  // error is there only after the request's end, and nodefony then waits for that end.
  'http-bundle': { request: { enabledPlugins: ['octetstream', 'querystring', 'multipart'] } },
  // nodefony starts only with an ORM; this one holds no connection.
  'mongoose-bundle': { mongoose: { connectors: null } },
};
