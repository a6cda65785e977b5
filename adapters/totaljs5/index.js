// Total.js's entry point for production; development has total5/debug.
require('total5/release')({
  ip: '0.0.0.0',
  port: 8080,
  config: {
    // The container's root is read-only: temporary files and logs go to /tmp, and no statistics are written beside the code.
    $dirtmp: '/tmp/total',
    $dirlogs: '/tmp/logs',
    $stats: false,
  },
});
