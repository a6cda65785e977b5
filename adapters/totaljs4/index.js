require('total4');

HTTP('release', {
  ip: '0.0.0.0',
  port: 8080,
  config: {
    // The container's root is read-only: temporary files and logs go to /tmp, and no statistics are written beside the code.
    directory_temp: '~/tmp/total/',
    directory_logs: '~/tmp/logs/',
    allow_stats_snapshot: false,
    allow_stats_status: false,
  },
});
