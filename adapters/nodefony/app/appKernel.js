module.exports = class appKernel extends nodefony.kernel {
  constructor(...settings) {
    super(...settings);
    // nodefony starts only with an ORM, and waits for its connections. With none, the news that all are there comes before
    // anybody listens, and the start hangs: so it is told once more, when the bundle before the ORM's is done.
    this.once('onBoot', () => {
      const orm = this.get('mongoose');
      this.getBundle('framework').once('onReady', () => setImmediate(() => orm.fire('onOrmReady', orm)));
    });
  }
};
