//! One load, as `load` prints it.

use crate::record::schema::{LagCause, Latency, Load};

/// A table of a load's figures; 80 columns.
pub fn table(load: &Load) -> String {
    let mut text = String::new();
    let ledger = &load.ledger;
    let offered = load
        .offered_rps
        .map_or("closed loop".into(), |rate| format!("{rate} req/s offered"));
    text += &format!(
        "{offered}, {} completed per second, coverage {}\n\n",
        number(load.achieved_rps),
        load.coverage
            .map_or("-".into(), |coverage| format!("{:.2} %", coverage * 100.0)),
    );
    text += &format!(
        "{:12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
        "us", "p50", "p90", "p99", "p99.9", "max", "mean"
    );
    for (name, clock) in [
        ("response", &load.response_us),
        ("service", &load.service_us),
        ("send lag", &load.lag_us),
    ] {
        text += &row(name, clock);
    }
    text += "\n";
    let causes = &load.lag_causes;
    for (name, cause) in [
        ("generator late", &causes.generator_late),
        ("no connection", &causes.no_free_connection),
        ("socket full", &causes.socket_full),
    ] {
        text += &lag(name, cause);
    }
    text += &format!(
        "\n{} scheduled = {} completed + {} wrong + {} timed out\n  + {} failed + {} unsent + {} in flight\n",
        ledger.scheduled,
        ledger.completed,
        ledger.wrong_response,
        ledger.timed_out,
        ledger.failed,
        ledger.unsent,
        ledger.in_flight
    );
    for (error, count) in &load.errors {
        text += &format!("{count:>10} x {error}\n");
    }
    text += &format!(
        "{} bytes in, {} connections opened, generator {} us of CPU per request\n",
        load.bytes_in,
        load.connections_opened,
        number(load.generator_cpu_us_per_request)
    );
    text += if load.valid {
        "valid\n"
    } else {
        "NOT VALID:\n"
    };
    for reason in &load.invalid_reasons {
        text += &format!("  {reason}\n");
    }
    text
}

/// A closed loop's response clock after the correction for coordinated omission.
pub fn corrected(interval_us: f64, response: &Latency) -> String {
    format!(
        "corrected for coordinated omission, one request per connection every {interval_us:.1} us expected:\n{}",
        row("response", response)
    )
}

fn row(name: &str, clock: &Latency) -> String {
    let Latency {
        p50,
        p90,
        p99,
        p999,
        max,
        mean,
        ..
    } = clock;
    let figures = [p50, p90, p99, p999, max, mean].map(|figure| format!("{:>10}", number(*figure)));
    format!("{name:12}{}\n", figures.concat())
}

fn lag(name: &str, cause: &LagCause) -> String {
    format!(
        "{name:16} {:>9} slots, p99 {:>9} us, max {:>11} us\n",
        cause.count,
        number(cause.p99_us),
        number(Some(cause.max_us))
    )
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.1}"))
}
