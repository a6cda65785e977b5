//! Dates in UTC, as engines and file names write them (Hinnant, "chrono-compatible low-level date
//! algorithms": years begin in March, so that leap days come last).

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;
const ERA_DAYS: i64 = 146_097;

/// `2026-11-30T16:22:09.123456789Z` as seconds since 1970.
pub fn unix_seconds(rfc3339: &str) -> Option<f64> {
    let (date, time) = rfc3339.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':').map(|part| part.parse::<f64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days =
        year.div_euclid(400) * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
    Some((days - EPOCH_DAYS) as f64 * 86_400.0 + hour * 3600.0 + minute * 60.0 + second)
}

/// Seconds since 1970 as `20261130T162209Z`, which sorts and is a file name everywhere.
pub fn stamp(unix_s: u64) -> String {
    let (days, second) = ((unix_s / 86_400) as i64 + EPOCH_DAYS, unix_s % 86_400);
    let of_era = days.rem_euclid(ERA_DAYS);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = days.div_euclid(ERA_DAYS) * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{:02}Z",
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written() {
        let table = [
            ("1970-01-01T00:00:00Z", 0.0, "19700101T000000Z"),
            ("2000-02-29T12:00:00.5Z", 951_825_600.5, "20000229T120000Z"),
            (
                "2026-11-30T16:22:09.25Z",
                1_796_055_729.25,
                "20261130T162209Z",
            ),
            ("2100-03-01T00:00:00Z", 4_107_542_400.0, "21000301T000000Z"),
        ];
        for (text, seconds, stamped) in table {
            assert_eq!(unix_seconds(text), Some(seconds), "{text}");
            assert_eq!(stamp(seconds as u64), stamped, "{text}");
        }
        assert_eq!(unix_seconds("yesterday"), None);
    }
}
