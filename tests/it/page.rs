//! The report's page in a real browser: nothing is fetched, nothing fails, every figure is there, and no
//! text of an archive does anything. src/report/html/README.md says how to look at it oneself.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use base64::Engine as _;
use serde_json::{Value, json};
use shootout::record::schema::Summary;

use crate::browser::{Browser, browser};
use crate::program::shootout;
use archive::Measured;

mod archive;

const SMALL: Measured = Measured {
    adapters: &["amber", "birch", "citron"],
    workloads: &["hello"],
    rates: &[100, 1000],
    repetitions: 1,
    load_s: 12,
};

#[test]
fn the_page_opens_anywhere_fetches_nothing_and_shows_every_figure() {
    let Some(browser) = browser() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let summary = archive::write(dir.path(), &SMALL);
    open(&browser, &report(dir.path()));
    figures(&browser, &summary);
    drawings(&browser);
    tables(&browser);
    pictures(&browser, "report");
    is_quiet(&browser);
}

#[test]
fn no_text_of_a_hostile_archive_does_anything() {
    const HOSTILE: &str =
        "'\"></title></style><script>hacked=1</script><img src=x onerror=hacked=1>{{title}}";
    let Some(browser) = browser() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    archive::write(dir.path(), &SMALL);
    archive::poison(dir.path(), HOSTILE);
    open(&browser, &report(dir.path()));
    browser.eval("for (const button of document.querySelectorAll('.grid button, .tools button')) button.click()");
    assert_eq!(browser.eval("return typeof hacked"), "undefined");
    let foreign =
        "return document.querySelectorAll('img, iframe, object, embed, base, form').length";
    assert_eq!(browser.eval(foreign), 0);
    assert_eq!(browser.eval("return document.scripts.length"), 1);
    let title = browser.eval("return document.title");
    assert!(title.as_str().unwrap().starts_with(HOSTILE), "{title}");
    // As text it is where it belongs: in an adapter's title, a response's body, a cell's folder.
    for place in ["#scenery td", "#parity pre", "#cells tbody th"] {
        let shown = format!(
            "return [...document.querySelectorAll('{place}')].some((e) => e.textContent.includes('<img src=x'))"
        );
        assert_eq!(browser.eval(&shown), true, "{place}");
    }
    is_quiet(&browser);
}

/// The archive's page, as a user makes it.
fn report(archive: &Path) -> PathBuf {
    let page = archive.join("report.html");
    let report = shootout().args("report --format html -o").arg(&page);
    report.arg(archive).run().exits(0);
    page
}

fn open(browser: &Browser, page: &Path) {
    browser.open(&format!("file://{}", page.display()));
}

/// Nothing was said on the console, and nobody was asked for anything.
fn is_quiet(browser: &Browser) {
    let console = browser.log("browser");
    assert!(console.is_empty(), "the console says {console:?}");
    for entry in browser.log("performance") {
        let event: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
        let event = &event["message"];
        if event["method"] == "Network.requestWillBeSent" {
            let url = event["params"]["request"]["url"].as_str().unwrap();
            let local = ["file:", "data:", "about:"];
            let is_local = local.iter().any(|own| url.starts_with(own));
            assert!(is_local, "the page asked for {url}");
        }
    }
}

/// Each figure of the summary is drawn once, and each hole is seen.
fn figures(browser: &Browser, summary: &Summary) {
    let marks = numbers(
        browser,
        "[...document.querySelectorAll('.mark')].map((m) => +m.dataset.v)",
    );
    let mut expected: Vec<f64> = summary.verdicts.iter().filter_map(|v| v.ratio).collect();
    for group in &summary.groups {
        // CPU, three phases of memory, and p99 over the rate.
        for figure in [
            "cpu_us_per_request",
            "rss_mib.baseline",
            "rss_mib.load",
            "rss_mib.recovery",
            "response_us.p99",
        ] {
            expected.extend(group.figures[figure].map(|spread| spread.median));
        }
    }
    let sorted = |mut figures: Vec<f64>| {
        figures.sort_by(f64::total_cmp);
        figures
    };
    assert_eq!(sorted(marks), sorted(expected));

    let visible = browser.eval("return document.body.innerText");
    let visible = visible.as_str().unwrap();
    for hole in &summary.holes {
        assert!(visible.contains(&hole.reason), "not seen: {}", hole.reason);
    }
    for reason in [
        "the clock stepped",
        "order alone ranks here",
        "birch: no valid run",
        "no figure: CPU us per request",
    ] {
        assert!(visible.contains(reason), "not seen: {reason}");
    }
    let before = "return document.getElementById('inconclusive').offsetTop < document.getElementById('verdicts').offsetTop";
    assert_eq!(browser.eval(before), true);
}

/// What is larger lies further right, or further up where the chart is one over rates; and every valid
/// run has its lines.
fn drawings(browser: &Browser) {
    const PLACES: &str = "[...document.querySelectorAll('figure svg')].map((svg) => {
      const axis = svg.querySelector('.line') ? 'y' : 'x';
      const marks = [...svg.querySelectorAll('.mark')].map((mark) => {
        const { x, y, width, height } = mark.getBBox();
        return [+mark.dataset.v, axis === 'x' ? x + width / 2 : -y - height / 2];
      });
      return marks.sort((a, b) => a[0] - b[0]);
    })";
    let charts = browser.eval(&format!("return {PLACES}"));
    let mut with_marks = 0;
    for chart in charts.as_array().unwrap() {
        let at = |mark: &Value| mark[1].as_f64().unwrap();
        let marks = chart.as_array().unwrap();
        // Half a unit: places have one decimal, and a triangle's middle is not quite its box's.
        let rises = |pair: &[Value]| at(&pair[0]) <= at(&pair[1]) + 0.5;
        assert!(marks.windows(2).all(rises), "{chart}");
        with_marks += usize::from(marks.len() > 1);
    }
    assert_eq!(with_marks, 6, "ratios, CPU and memory at two rates, p99");
    for (lines, expected) in [(".p50", 5), (".p99", 5), (".lag", 5)] {
        let lines = format!("return document.querySelectorAll('figure {lines}').length");
        assert_eq!(browser.eval(&lines), expected, "{lines}: a run each");
    }
}

fn numbers(browser: &Browser, script: &str) -> Vec<f64> {
    let numbers = browser.eval(&format!("return {script}"));
    let numbers = numbers.as_array().unwrap().iter();
    numbers.filter_map(Value::as_f64).collect()
}

/// By keyboard alone.
fn tables(browser: &Browser) {
    const ROWS: &str = "[...document.querySelectorAll('#figures .grid tbody tr')].slice(0, 7)";
    const ENTER: &str = "\u{e007}";
    let p50 = format!("return {ROWS}.map((row) => row.cells[4]?.dataset.v ?? null)");
    let shown = format!("return {ROWS}.filter((row) => row.checkVisibility()).length");
    for (key, sign) in [("ascending", 1.0), ("descending", -1.0)] {
        browser.keys("#figures .grid th:nth-child(5) button", ENTER);
        let column = browser.eval(&p50);
        let column = column.as_array().unwrap();
        let figures = column.iter().filter_map(Value::as_str);
        let figures: Vec<f64> = figures.map(|v| v.parse::<f64>().unwrap() * sign).collect();
        assert_eq!(figures.len(), 5, "{key}: {column:?}");
        assert!(figures.is_sorted(), "{key}: {column:?}");
        // What there is not comes last either way.
        assert!(column[5..].iter().all(Value::is_null), "{key}: {column:?}");
        let sort = "return document.querySelector('#figures .grid th:nth-child(5)').ariaSort";
        assert_eq!(browser.eval(sort), key);
    }
    assert_eq!(browser.eval(&shown), 7);
    browser.keys("#figures .tools input", "birch");
    assert_eq!(browser.eval(&shown), 2, "one for each rate");
    browser.eval(
        "window.copied = ''; navigator.clipboard.writeText = async (text) => { window.copied = text; }",
    );
    browser.keys("#figures .tools button", ENTER);
    let csv = browser.eval("return window.copied");
    let csv = csv.as_str().unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    let columns = "adapter,load,connections,\"healthy / valid / runs\",\"p50 us\",\"p50 us min\",";
    assert!(lines[0].starts_with(columns), "{csv}");
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(
        lines[1..].iter().all(|line| line.starts_with("birch,")),
        "{csv}"
    );
    assert!(
        csv.contains(",200.125,200.125,200.125,"),
        "every digit: {csv}"
    );
    browser.eval("const f = document.querySelector('#figures .tools input'); f.value = ''; f.dispatchEvent(new Event('input'))");
}

const SCHEMES: [&str; 2] = ["light", "dark"];

fn scheme(browser: &Browser, scheme: &str) {
    let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
    browser.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
}

/// Wide and on a phone, in light and in dark: nothing is wider than the window. The pictures are kept in
/// cargo's folder for tests, to be looked at.
fn pictures(browser: &Browser, name: &str) {
    for width in [1280, 390] {
        for colours in SCHEMES {
            scheme(browser, colours);
            let screen = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
            browser.devtools("Emulation.setDeviceMetricsOverride", &screen);
            let wide = browser.eval("return document.documentElement.scrollWidth");
            assert!(wide.as_i64().unwrap() <= width, "{wide} of {width}");
            let picture = json!({"captureBeyondViewport": true, "format": "png"});
            let png = browser.devtools("Page.captureScreenshot", &picture);
            let png =
                base64::engine::general_purpose::STANDARD.decode(png["data"].as_str().unwrap());
            let name = format!("{name}-{width}-{colours}.png");
            fs::write(
                Path::new(env!("CARGO_TARGET_TMPDIR")).join(name),
                png.unwrap(),
            )
            .unwrap();
        }
    }
    browser.devtools("Emulation.clearDeviceMetricsOverride", &json!({}));
}

/// SHOOTOUT_AXE is the path of axe-core's axe.min.js; SHOOTOUT_ARCHIVE that of an archive to be looked at
/// besides.
#[test]
#[ignore = "axe-core comes from npm, and no test here needs that"]
fn axe_finds_no_serious_violation() {
    let axe = std::env::var("SHOOTOUT_AXE").expect("SHOOTOUT_AXE: where axe.min.js is");
    let axe = fs::read_to_string(axe).unwrap();
    let browser = browser().expect("a browser");
    let dir = tempfile::tempdir().unwrap();
    archive::write(dir.path(), &SMALL);
    let mut pages = vec![("written by hand", report(dir.path()))];
    if let Ok(archive) = std::env::var("SHOOTOUT_ARCHIVE") {
        let page = dir.path().join("own.html");
        let report = shootout().args("report --format html -o").arg(&page);
        report.arg(archive).run().exits(0);
        pages.push(("of SHOOTOUT_ARCHIVE", page));
    }
    for (which, page) in pages {
        open(&browser, &page);
        // What is folded away is looked at too.
        browser
            .eval("for (const folded of document.querySelectorAll('details')) folded.open = true");
        browser.eval(&axe);
        for colours in SCHEMES {
            scheme(&browser, colours);
            let found = browser
                .eval("return axe.run(document, { resultTypes: ['violations', 'incomplete'] })");
            for kind in ["violations", "incomplete"] {
                for one in found[kind].as_array().unwrap() {
                    let [impact, id, help] = ["impact", "id", "help"].map(|key| &one[key]);
                    let nodes = one["nodes"].as_array().unwrap();
                    println!(
                        "{which}, {colours}: {kind}: {impact} {id} ({} places): {help}",
                        nodes.len()
                    );
                    println!("  {}", nodes[0]["html"]);
                }
            }
            let passes = found["passes"].as_array().map_or(0, Vec::len);
            println!("{which}, {colours}: {passes} rules hold");
            let grave = found["violations"].as_array().unwrap().iter();
            let grave =
                grave.filter(|one| one["impact"] == "serious" || one["impact"] == "critical");
            assert_eq!(grave.count(), 0);
        }
        open(&browser, &page);
        pictures(&browser, "own");
    }
}

#[test]
#[ignore = "a measurement of this machine's speed, which no test may depend on"]
fn a_measurement_of_the_page_of_192_cells() {
    let browser = browser().expect("a browser");
    let dir = tempfile::tempdir().unwrap();
    let adapters: Vec<String> = (0..8).map(|number| format!("framework-{number}")).collect();
    let summary = archive::write(
        dir.path(),
        &Measured {
            adapters: &adapters.iter().map(String::as_str).collect::<Vec<_>>(),
            workloads: &["catalog", "hello", "upstream", "validate"],
            repetitions: 3,
            load_s: 60,
            ..SMALL
        },
    );
    let began = Instant::now();
    let page = report(dir.path());
    let took = began.elapsed();
    let bytes = fs::metadata(&page).unwrap().len();
    println!(
        "report of {} cells: {bytes} bytes in {took:?}",
        summary.cells.len()
    );
    for _ in 0..3 {
        open(&browser, &page);
        // The page's script has run by then: what it adds is there.
        let ms = browser.eval("const [of] = performance.getEntriesByType('navigation'); return [of.domContentLoadedEventEnd, of.loadEventEnd]");
        println!("interactive, loaded: {ms} ms after it was opened");
    }
}
