//! A chart of a comparison as SVG: the time of each peer relative to this engine.

use std::fmt::Write;

use super::report::{CaseReport, Report};

/// The width of the labels in pixels.
const LABELS: f64 = 330.0;
/// The width of the bars in pixels.
const BARS: f64 = 480.0;
/// The width of the number after a bar in pixels.
const NUMBERS: f64 = 60.0;
const BAR: f64 = 9.0;
const GAP: f64 = 9.0;
const TOP: f64 = 64.0;

/// The ratios at the ends of the logarithmic axis. Bars are cut off there.
const LEAST: f64 = 0.5;
const MOST: f64 = 64.0;

/// The palette of Okabe and Ito, which people with any colour vision can distinguish.
const COLOURS: [&str; 6] = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Returns the chart.
pub(crate) fn svg(report: &Report) -> String {
    let rows: Vec<(&CaseReport, Vec<(usize, f64)>)> = report
        .cases
        .iter()
        .map(|case| (case, ratios(report, case)))
        .filter(|(_, bars)| !bars.is_empty())
        .collect();
    let height = TOP + rows.iter().map(|(_, bars)| bars.len() as f64 * BAR + GAP).sum::<f64>() + 10.0;
    let width = LABELS + BARS + NUMBERS;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"8\" y=\"18\" font-size=\"13\">Time of each peer relative to {} (medians)</text>\n",
        escaped(report.ours())
    );
    legend(report, &mut text);
    axis(height, &mut text);
    let mut y = TOP;
    for (case, bars) in rows {
        let middle = y + bars.len() as f64 * BAR / 2.0 + 4.0;
        let label = match case.threads {
            1 => format!("{}, 1 thread", case.title),
            2 => case.title.clone(),
            threads => format!("{}, {threads} threads", case.title),
        };
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>",
            LABELS - 8.0,
            escaped(&label)
        );
        for (peer, ratio) in bars {
            bar(peer, ratio, y, &mut text);
            y += BAR;
        }
        y += GAP;
    }
    text.push_str("</svg>\n");
    text
}

/// Returns the number and the ratio of each peer that has run a case.
fn ratios(report: &Report, case: &CaseReport) -> Vec<(usize, f64)> {
    let ratio = |peer: &str| Some(case.median(peer)? / case.median(report.ours())?);
    report.peers().enumerate().filter_map(|(number, peer)| Some((number, ratio(peer)?))).collect()
}

fn legend(report: &Report, text: &mut String) {
    let mut x = 8.0;
    for (number, peer) in report.peers().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"28\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"37\">{}</text>",
            x + 14.0,
            escaped(peer)
        );
        x += 34.0 + peer.len() as f64 * 6.5;
    }
}

fn axis(height: f64, text: &mut String) {
    let mut ratio = LEAST;
    while ratio <= MOST {
        let x = place(ratio);
        let is_one = (ratio - 1.0).abs() < 1e-9;
        let colour = if is_one { "#000000" } else { "#dddddd" };
        let bottom = height - 6.0;
        let _ = writeln!(
            text,
            "<line x1=\"{x:.1}\" y1=\"{}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"{colour}\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{ratio}×</text>",
            TOP - 6.0,
            TOP - 10.0
        );
        ratio *= 2.0;
    }
}

fn bar(peer: usize, ratio: f64, y: f64, text: &mut String) {
    let one = place(1.0);
    let end = place(ratio);
    let left = one.min(end);
    let width = (end - one).abs();
    let colour = COLOURS[peer % COLOURS.len()];
    let shown = if ratio >= 9.95 { format!("{ratio:.0}×") } else { format!("{ratio:.1}×") };
    let _ = writeln!(
        text,
        "<rect x=\"{left:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>\
         <text x=\"{:.1}\" y=\"{}\" font-size=\"8\">{shown}</text>",
        BAR - 1.0,
        one.max(end) + 3.0,
        y + BAR - 2.0
    );
}

/// Returns the horizontal position of a ratio.
fn place(ratio: f64) -> f64 {
    let share = (ratio.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    LABELS + share * BARS
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::report::made_up;
    use super::*;

    #[test]
    fn a_bar_goes_from_one_to_the_ratio() {
        let chart = svg(&made_up());
        // Seven doublings from a half to 64 are 480 pixels: one is at 330 + 480 / 7.
        let one = 330.0 + 480.0 / 7.0;
        let step = 480.0 / 7.0;
        let twice =
            format!("<rect x=\"{one:.1}\" y=\"64\" width=\"{step:.1}\" height=\"8\" fill=\"#d55e00\"/>");
        assert!(chart.contains(&twice), "{chart}");
        let four_times = format!("<rect x=\"{one:.1}\" y=\"73\" width=\"{:.1}\"", 2.0 * step);
        assert!(chart.contains(&four_times), "{chart}");
        // A peer that is ahead has its bar on the other side.
        let half = format!("<rect x=\"330.0\" y=\"91\" width=\"{step:.1}\"");
        assert!(chart.contains(&half), "{chart}");
    }

    #[test]
    fn ratios_beyond_the_axis_end_there() {
        assert_eq!((place(1000.0), place(0.001)), (LABELS + BARS, LABELS));
    }

    #[test]
    fn the_chart_is_well_formed_and_names_cases_and_peers() {
        let mut report = made_up();
        report.cases[0].title = "a < b & c".to_owned();
        let chart = svg(&report);
        assert!(chart.contains(">a &lt; b &amp; c</text>"));
        assert!(chart.contains(">tensorstore</text>"));
        assert!(chart.starts_with("<svg ") && chart.ends_with("</svg>\n"));
        assert_eq!(chart.matches("<text").count(), chart.matches("</text>").count());
    }
}
