// nodefony 6 sets a global `crypto` to node:crypto. Since Node 19 that name is taken and does not give way to an assignment,
// so it is put there beforehand; node:crypto offers what is expected of Web Crypto too.
Object.defineProperty(globalThis, 'crypto', { value: require('node:crypto'), writable: true, configurable: true });

// What nodefony's production command starts under pm2: the kernel itself, here without pm2's supervisor around it.
process.env.MODE_START = 'PM2';
process.argv.splice(2, Infinity, 'production');
require('nodefony/bin/nodefony');

// The first process of a container gets no default action for a signal.
process.on('SIGTERM', () => process.exit());
