// A service of JSON behind no browser: HTTP alone, and of nodefony's bundles only the two that it consists of.
module.exports = {
  system: {
    domain: '0.0.0.0',
    domainCheck: false,
    httpPort: 8080,
    httpsPort: 8443,
    locale: 'en_en',
    security: false,
    realtime: false,
    monitoring: false,
    mail: false,
    documentation: false,
    unitTest: false,
    redis: false,
    mongo: false,
    elastic: false,
    servers: { statics: false, protocol: '1.1', http: true, https: false, ws: false, wss: false },
    bundles: {},
    log: { active: false }, // or it logs every request
  },
  CDN: null,
  templating: 'twig',
  orm: 'mongoose',
  packageManager: 'npm',
};
