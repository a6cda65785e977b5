#!/bin/sh
# Writes a minimal Debian trixie root file system on stdout, as a tar: the base where no registry answers.
#
# It stands in for debian:trixie-slim, which is used where it can be pulled: essential packages and apt, no documentation
# and no translations. No mirror is named: mmdebstrap knows Debian's, adds the suites for updates and security, and takes
# the host's apt proxy.
set -eu

# Times in the tar are clamped to this (the day trixie came out), so that the same packages make the same tar, byte for byte.
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-1754697600}"

if ! command -v mmdebstrap >/dev/null; then
    echo "rootfs.sh: mmdebstrap is missing: run docker/engine.sh as root, or install mmdebstrap" >&2
    exit 3
fi

# What names this host goes. And apt keeps nothing that it can fetch again, as in Debian's own image: 100 MB in each image
# that installs a package. From then on apt's own clean-up no longer sees its caches, so they are emptied here.
# shellcheck disable=SC2016 # expanded by the hook's own shell, where "$1" is the new root
finish='
    rm -f "$1/etc/hostname" "$1/etc/resolv.conf"
    cat >"$1/etc/apt/apt.conf.d/80lean" <<-END
	APT::Keep-Downloaded-Packages "false";
	Dir::Cache::pkgcache "";
	Dir::Cache::srcpkgcache "";
	END
    rm -f "$1"/var/cache/apt/*.bin "$1"/var/cache/apt/archives/*.deb'

exec mmdebstrap \
    --variant=apt \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/lintian/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="$finish" \
    --format=tar \
    trixie - </dev/null
