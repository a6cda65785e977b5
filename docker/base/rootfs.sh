#!/bin/sh
# Writes a minimal Debian trixie root file system on stdout, as a tar: the base where no registry answers.
#
# What it must equal is debian:trixie-slim, which is used where it can be pulled: essential packages and apt, no
# documentation and no locales, and no service started by a package's installation. No mirror is named: mmdebstrap knows
# Debian's, adds the suites for updates and security, and takes the host's apt proxy.
set -eu

# Times in the tar are clamped to this (the day trixie came out), so that the same packages make nearly the same tar.
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-1754697600}"

if ! command -v mmdebstrap >/dev/null; then
    echo "rootfs.sh: mmdebstrap is missing: run docker/engine.sh as root, or install mmdebstrap" >&2
    exit 3
fi

# shellcheck disable=SC2016 # "$1" is the new root, expanded by the hook's own shell
exec mmdebstrap \
    --variant=apt \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/lintian/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='printf "#!/bin/sh\nexit 101\n" >"$1/usr/sbin/policy-rc.d" && chmod 755 "$1/usr/sbin/policy-rc.d"' \
    --customize-hook='rm -f "$1/etc/resolv.conf" "$1/etc/hostname"' \
    --format=tar \
    trixie - </dev/null
