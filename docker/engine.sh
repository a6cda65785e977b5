#!/bin/sh
# Makes sure that a Docker engine answers, and that mmdebstrap is there to bootstrap a base image without a registry.
# Idempotent, never asks anything, never waits without a bound. Says what it does on stderr.
#
# Exit codes: 0 an engine answers; 3 it does not, and the message says what to do.
#
# Everything that may leave a process behind writes to a log file, never to what this script inherited: a daemon that
# held the caller's pipe open would let the caller wait for ever.
set -u
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin" # su keeps a user's PATH, and dockerd and iptables are not in it

socket=/var/run/docker.sock
host=${DOCKER_HOST:-unix://$socket}
engine_log=/var/log/shootout-dockerd.log
apt_log=/var/log/shootout-apt.log
start_seconds=90

say() { printf 'engine: %s\n' "$*" >&2; }

# fail MESSAGE [LOG]
fail() {
    say "$1"
    if [ -s "${2:-}" ]; then
        say "last lines of $2:"
        tail -n 15 "$2" | sed 's/^/engine:   /' >&2
    fi
    exit 3
}

have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }
has_systemd() { [ -d /run/systemd/system ]; }

# Debian and Ubuntu name themselves in ID or, their derivatives, in ID_LIKE.
is_debian() {
    # shellcheck disable=SC1091
    have apt-get && (. /etc/os-release && case " $ID ${ID_LIKE:-} " in *" debian "* | *" ubuntu "*) ;; *) false ;; esac)
}

# Does the engine answer a ping? The docker client need not be there; perl is on every Debian, curl on most other systems.
answers() {
    case $host in
    unix://*)
        if have curl; then
            timeout 10 curl -fs --noproxy '*' --unix-socket "${host#unix://}" http://localhost/_ping
        elif have perl; then
            # shellcheck disable=SC2016
            timeout 10 perl -MIO::Socket::UNIX -e '
                my $s = IO::Socket::UNIX->new(Peer => shift) or exit 1;
                print $s "GET /_ping HTTP/1.0\r\n\r\n";
                exit(<$s> =~ / 200 / ? 0 : 1);' "${host#unix://}"
        else
            timeout 10 docker -H "$host" version
        fi
        ;;
    tcp://*)
        # TLS and its certificates are the docker client's business.
        if have docker; then timeout 10 docker -H "$host" version; else timeout 10 curl -fs "http://${host#tcp://}/_ping"; fi
        ;;
    *) timeout 10 docker -H "$host" version ;;
    esac </dev/null >/dev/null 2>&1
}

# install PACKAGE...: with the package lists as they are; only if that fails are they fetched anew.
install() {
    say "installing $* (log: $apt_log)"
    apt="timeout 1200 apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 -o Acquire::http::Timeout=30"
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    $apt install -y --no-install-recommends "$@" </dev/null >"$apt_log" 2>&1 && return
    say "fetching the package lists first"
    $apt update </dev/null >>"$apt_log" 2>&1 # a broken source of something else is no reason to stop
    $apt install -y --no-install-recommends "$@" </dev/null >>"$apt_log" 2>&1
}

# The archive keyring and gpg are there on Debian, not on Ubuntu.
lacks_mmdebstrap() { ! have mmdebstrap || [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; }

# Where a registry answers the base image is pulled, so a machine without mmdebstrap is no failure.
install_mmdebstrap() {
    install mmdebstrap debian-archive-keyring gpg || say "no mmdebstrap (see $apt_log): the base image will have to be pulled"
}

# runs PIDFILE NAME: is it the pid file of a live process of that name? A zombie is not live, whoever forgot to reap it.
runs() {
    pid=$(cat "$1" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] &&
        ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null
}

# wait_for_engine COMMAND...: until the engine answers (true), or COMMAND says that nothing runs any more, or time is up
# (false).
wait_for_engine() {
    deadline=$(($(date +%s) + start_seconds))
    while [ "$(date +%s)" -lt $deadline ]; do
        answers && return 0
        "$@" 2>/dev/null || return 1
        sleep 0.3
    done
    return 1
}

start_with_systemd() {
    say "starting docker.service"
    timeout "$start_seconds" systemctl start docker.service >"$engine_log" 2>&1 </dev/null
    wait_for_engine systemctl -q is-active docker.service && return
    timeout 10 journalctl -u docker.service -n 15 --no-pager >>"$engine_log" 2>&1
    fail "docker.service does not answer at $host" "$engine_log"
}

start_by_hand() {
    # One that was just killed may take a moment to go, one that somebody just started a moment to answer.
    if runs /var/run/docker.pid dockerd; then
        say "waiting for dockerd (pid $pid), which runs and does not answer yet"
        wait_for_engine runs /var/run/docker.pid dockerd && return
        runs /var/run/docker.pid dockerd &&
            fail "dockerd (pid $pid) runs and has not answered at $host for $start_seconds s; stop it, then run this again" "$engine_log"
    fi

    # A killed daemon leaves its pid file, and the next one refuses to start if any process has that number by then.
    for daemon in docker.pid:dockerd docker/containerd/containerd.pid:containerd; do
        file=/var/run/${daemon%:*}
        [ -e "$file" ] && ! runs "$file" "${daemon#*:}" && say "removing the stale $file" && rm -f "$file"
    done

    say "starting dockerd (log: $engine_log)"
    setsid dockerd >"$engine_log" 2>&1 </dev/null 9>&- &
    dockerd=$!
    wait_for_engine kill -0 $dockerd && return
    kill -0 $dockerd 2>/dev/null && fail "dockerd (pid $dockerd) has not answered at $host for $start_seconds s" "$engine_log"
    fail "dockerd ended instead of answering at $host" "$engine_log"
}

if answers; then
    if is_root && is_debian && lacks_mmdebstrap; then
        say "an engine answers at $host"
        install_mmdebstrap
    else
        say "an engine answers at $host: nothing to do"
    fi
    exit 0
fi

[ "${host#unix://}" = $socket ] || [ "${host#unix://}" = /run/docker.sock ] ||
    fail "no engine answers at DOCKER_HOST=$host: start that one, or unset DOCKER_HOST to use $socket"
if ! is_root; then
    [ -S $socket ] && [ ! -w $socket ] &&
        fail "this user may not use $socket: run 'sudo usermod -aG docker $(id -un)' and log in again (that group is as good as root), or run this kit as root"
    fail "no engine answers at $host, and starting one takes root: run 'sudo sh $0'"
fi
is_debian || fail "no engine answers at $host, and this script installs one on Debian and Ubuntu only: install Docker as your system's documentation says, run 'systemctl start docker', then run this again"

# Two of these at once take turns, and the second finds an engine. Daemons must not inherit the lock (9>&-).
exec 9>/var/lock/shootout-engine.lock
flock -w 1500 9 || fail "another run of this script holds /var/lock/shootout-engine.lock and does not end"
if answers; then
    say "an engine answers at $host by now"
    exit 0
fi

if ! have dockerd; then
    # With AppArmor in the kernel, containers start only if its parser is there.
    apparmor=
    grep -qs Y /sys/module/apparmor/parameters/enabled && apparmor=apparmor
    # shellcheck disable=SC2086
    install docker.io iptables ca-certificates $apparmor 9>&- || fail "apt-get could not install docker.io" "$apt_log"
fi
lacks_mmdebstrap && install_mmdebstrap 9>&-
if has_systemd; then start_with_systemd; else start_by_hand; fi
say "an engine answers at $host"
