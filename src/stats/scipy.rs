//! What SciPy says, written by `tests/scipy.py`: an implementation of the same that is not ours.

use std::sync::LazyLock;

use serde::Deserialize;

/// All of `tests/scipy.json`.
#[derive(Deserialize)]
pub struct Table {
    pub t_quantiles: Vec<Share>,
    pub t_shares: Vec<Share>,
    pub intervals: Vec<Interval>,
    pub slopes: Vec<Slope>,
    pub bootstraps: Vec<Bootstrap>,
    pub separations: Vec<Separation>,
}

/// Below `t` lies a share `p`.
#[derive(Deserialize)]
pub struct Share {
    pub df: f64,
    pub p: f64,
    pub t: f64,
}

#[derive(Deserialize)]
pub struct Interval {
    pub values: Vec<f64>,
    pub confidence: f64,
    pub mean: f64,
    pub sd: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Deserialize)]
pub struct Slope {
    pub values: Vec<f64>,
    pub slope: f64,
}

/// Of the mean, with as many draws as ours.
#[derive(Deserialize)]
pub struct Bootstrap {
    pub values: Vec<f64>,
    pub confidence: f64,
    pub low: f64,
    pub high: f64,
}

/// How probable a full separation of `n` against `n` is by chance alone.
#[derive(Deserialize)]
pub struct Separation {
    pub n: u32,
    pub p_signs: f64,
    pub p_ranks: f64,
}

/// Read once.
pub fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        let json = include_str!("../../tests/scipy.json");
        serde_json::from_str(json).expect("tests/scipy.py wrote it")
    });
    &TABLE
}

/// Equal to a relative 1e-9, and to 1e-12 about 0.
pub fn close(what: &str, ours: f64, theirs: f64) {
    let bound = (1e-9 * theirs.abs()).max(1e-12);
    assert!(
        (ours - theirs).abs() <= bound,
        "{what}: {ours}, expected {theirs}"
    );
}
