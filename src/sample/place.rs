//! Where a process's cgroup is in the file system, controller by controller: what `/proc/PID/cgroup`
//! and `mountinfo` say, put together. Pure.

use std::path::PathBuf;

/// The two interfaces of cgroups; one machine may have both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// A hierarchy per controller (or per few of them).
    V1,
    /// One hierarchy for all.
    V2,
}

/// One line of `/proc/PID/cgroup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The hierarchy's controllers; none for v2.
    pub controllers: Vec<String>,
    /// The path within the hierarchy, from the root of the reader's cgroup namespace.
    pub path: String,
    version: Version,
}

/// One cgroup mount of a `mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Which interface.
    pub version: Version,
    /// The cgroup that is mounted: `/` unless it is a bind mount or a namespace's.
    pub root: String,
    /// Where.
    pub point: PathBuf,
    /// The options of the file system, which name v1's controllers.
    pub options: Vec<String>,
}

/// A folder that may be the cgroup's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which interface its files have.
    pub version: Version,
    /// The cgroup's folder.
    pub dir: PathBuf,
    /// The highest of its parents that is visible.
    pub top: PathBuf,
    /// Its path within the hierarchy.
    pub path: String,
}

/// The lines of `/proc/PID/cgroup`; what is no such line is passed over.
pub fn memberships(text: &str) -> Vec<Membership> {
    text.lines().filter_map(membership).collect()
}

fn membership(line: &str) -> Option<Membership> {
    // The path may hold colons itself.
    let mut parts = line.splitn(3, ':');
    let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let version = match (id, controllers) {
        ("0", "") => Version::V2,
        _ => Version::V1,
    };
    path.starts_with('/').then(|| Membership {
        controllers: controllers.split(',').map(String::from).collect(),
        path: path.to_owned(),
        version,
    })
}

/// The cgroup mounts of a `mountinfo`; everything else in it is passed over.
pub fn mounts(text: &str) -> Vec<Mount> {
    text.lines().filter_map(mount).collect()
}

fn mount(line: &str) -> Option<Mount> {
    // Optional fields, in any number, end at the lone hyphen.
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup" => Version::V1,
        "cgroup2" => Version::V2,
        _ => return None,
    };
    let options = kind.nth(1).unwrap_or_default();
    let mut place = place.split(' ').skip(3);
    Some(Mount {
        version,
        root: unescaped(place.next()?),
        point: unescaped(place.next()?).into(),
        options: options.split(',').map(String::from).collect(),
    })
}

/// `mountinfo` writes blanks, tabs, newlines and backslashes as three octal digits.
fn unescaped(field: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(field.to_owned(), |field, (code, char)| {
        field.replace(code, char)
    })
}

/// The folders that may be the cgroup of a controller, the likeliest first.
///
/// A controller belongs to the v1 hierarchy that names it; to v2 only where none does, so that a
/// `0::` line beside v1's does not mislead.
pub fn candidates(controller: &str, memberships: &[Membership], mounts: &[Mount]) -> Vec<Place> {
    let named = memberships
        .iter()
        .find(|m| m.version == Version::V1 && m.controllers.iter().any(|c| c == controller));
    let unified = || memberships.iter().find(|m| m.version == Version::V2);
    let Some(member) = named.or_else(unified) else {
        return Vec::new();
    };
    mounts
        .iter()
        .rev() // A later mount hides an earlier one.
        .filter(|mount| mount.version == member.version)
        .filter(|m| m.version == Version::V2 || m.options.iter().any(|o| o == controller))
        .filter_map(|mount| {
            Some(Place {
                version: mount.version,
                dir: mount.point.join(below(&mount.root, &member.path)?),
                top: mount.point.clone(),
                path: member.path.clone(),
            })
        })
        .collect()
}

/// What of `path` lies below `root`, without a leading slash; `None` where it lies elsewhere.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    // `/docker` is no parent of `/docker2`.
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    // A cgroup outside of the reader's namespace: joined, it would climb out of the mount.
    let rest = rest.trim_start_matches('/');
    (!rest.split('/').any(|part| part == "..")).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_SEPARATE: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const V1_JOINT: &str = "\
25 30 0:23 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755
26 25 0:24 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:10 - cgroup2 cgroup2 rw
27 25 0:25 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:11 - cgroup cgroup rw,xattr,name=systemd
30 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:15 - cgroup cgroup rw,cpu,cpuacct
31 25 0:29 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:16 - cgroup cgroup rw,memory
32 25 0:30 / /sys/fs/cgroup/cpuset rw,nosuid,nodev,noexec,relatime shared:17 - cgroup cgroup rw,cpuset
";
    const V1_CONTAINER: &str = "\
78 77 0:46 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755
80 78 0:30 /docker/4b89 /sys/fs/cgroup/cpuacct ro,nosuid,nodev,noexec,relatime - cgroup cgroup rw,cpuacct
82 78 0:32 /docker/4b89 /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime - cgroup cgroup rw,memory
";
    const V2: &str = "\
22 29 0:20 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
35 22 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
";
    const V2_BIND: &str = "\
601 600 0:30 /system.slice/docker-4b89.scope /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw
";
    const V2_HOST_IN_NAMESPACE: &str = "\
601 600 0:30 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw
602 600 0:30 /../.. /host/cg\\040roup ro,relatime - cgroup2 cgroup rw
";
    const DOCKER_V1: &str = "\
9:name=systemd:/docker/4b89
8:pids:/docker/4b89
4:memory:/docker/4b89
3:cpuset:/docker/4b89
2:cpuacct:/docker/4b89
1:cpu:/docker/4b89
0::/docker/4b89
";
    const DOCKER_V1_JOINT: &str = "\
12:cpuset:/docker/4b89
9:memory:/docker/4b89
4:cpu,cpuacct:/docker/4b89
1:name=systemd:/docker/4b89
0::/system.slice/containerd.service
";

    fn first(controller: &str, cgroup: &str, mountinfo: &str) -> Option<(Version, String)> {
        let place = candidates(controller, &memberships(cgroup), &mounts(mountinfo)).into_iter();
        place
            .map(|p| {
                (
                    p.version,
                    p.dir.to_str().unwrap().trim_end_matches('/').into(),
                )
            })
            .next()
    }

    #[test]
    fn each_controller_is_found_where_it_is() {
        use Version::{V1, V2 as Two};
        let scope = "0::/system.slice/docker-4b89.scope\n";
        type Case = (
            &'static str,
            &'static str,
            &'static str,
            Option<(Version, &'static str)>,
        );
        let table: &[Case] = &[
            // v1: separate and joint, a v2 mount and line beside them.
            (
                "cpu",
                DOCKER_V1,
                V1_SEPARATE,
                Some((V1, "/sys/fs/cgroup/cpu/docker/4b89")),
            ),
            (
                "cpuacct",
                DOCKER_V1,
                V1_SEPARATE,
                Some((V1, "/sys/fs/cgroup/cpuacct/docker/4b89")),
            ),
            (
                "pids",
                DOCKER_V1,
                V1_SEPARATE,
                Some((V1, "/sys/fs/cgroup/pids/docker/4b89")),
            ),
            (
                "cpuacct",
                DOCKER_V1_JOINT,
                V1_JOINT,
                Some((V1, "/sys/fs/cgroup/cpu,cpuacct/docker/4b89")),
            ),
            (
                "cpu",
                DOCKER_V1_JOINT,
                V1_JOINT,
                Some((V1, "/sys/fs/cgroup/cpu,cpuacct/docker/4b89")),
            ),
            (
                "memory",
                DOCKER_V1_JOINT,
                V1_JOINT,
                Some((V1, "/sys/fs/cgroup/memory/docker/4b89")),
            ),
            // A controller that no v1 hierarchy has can only be v2's.
            (
                "pids",
                DOCKER_V1_JOINT,
                V1_JOINT,
                Some((
                    Two,
                    "/sys/fs/cgroup/unified/system.slice/containerd.service",
                )),
            ),
            // v1 inside a container: the mount's root is the container's own cgroup.
            (
                "memory",
                DOCKER_V1,
                V1_CONTAINER,
                Some((V1, "/sys/fs/cgroup/memory")),
            ),
            ("memory", "4:memory:/docker/other\n", V1_CONTAINER, None),
            ("memory", "4:memory:/docker/4b89a\n", V1_CONTAINER, None),
            (
                "memory",
                "4:memory:/docker/4b89/sub\n",
                V1_CONTAINER,
                Some((V1, "/sys/fs/cgroup/memory/sub")),
            ),
            // v2: systemd's and cgroupfs's names.
            (
                "memory",
                scope,
                V2,
                Some((Two, "/sys/fs/cgroup/system.slice/docker-4b89.scope")),
            ),
            (
                "cpuset",
                "0::/docker/4b89\n",
                V2,
                Some((Two, "/sys/fs/cgroup/docker/4b89")),
            ),
            ("cpu", "0::/a:b\n", V2, Some((Two, "/sys/fs/cgroup/a:b"))),
            // v2 in a cgroup namespace: its own cgroup is /, and one outside shows as /.. .
            ("memory", "0::/\n", V2, Some((Two, "/sys/fs/cgroup"))),
            ("memory", scope, V2_BIND, Some((Two, "/sys/fs/cgroup"))),
            ("memory", "0::/../docker-77.scope\n", V2, None),
            (
                "memory",
                "0::/../../system.slice/docker-77.scope\n",
                V2_HOST_IN_NAMESPACE,
                Some((Two, "/host/cg roup/system.slice/docker-77.scope")),
            ),
        ];
        for (controller, cgroup, mountinfo, expected) in table {
            let expected = expected.map(|(version, dir)| (version, dir.to_owned()));
            assert_eq!(
                first(controller, cgroup, mountinfo),
                expected,
                "{controller} of {cgroup}"
            );
        }
    }

    #[test]
    fn malformed_lines_are_passed_over() {
        for text in ["", ":", "::", "0::", "x", "1:cpu", "\0", "1:cpu:docker"] {
            assert!(memberships(text).is_empty(), "{text}");
        }
        for text in [
            "",
            " - ",
            " - cgroup",
            "1 2 3 - cgroup2",
            "a b c d - cgroup cgroup rw",
        ] {
            assert!(mounts(text).is_empty(), "{text}");
        }
        // Every prefix of real text, cut anywhere.
        for end in 0..V1_JOINT.len() {
            mounts(&V1_JOINT[..end]);
        }
        for end in 0..DOCKER_V1.len() {
            memberships(&DOCKER_V1[..end]);
        }
    }
}
