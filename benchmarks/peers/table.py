"""From runs to one Markdown table."""

import statistics

HEAD = "| workload | system | samples/s, median (least to most) | of the plain loop | "
HEAD += "start-up, s | peak memory (PSS), MB |\n| --- | --- | ---: | ---: | ---: | ---: |"


def summary(runs, title):
    """Reduce the runs of one system on one workload; round 1 of every run is the warm-up."""
    failed = [run for run in runs if run.failure]
    good = [run for run in runs if not run.failure and not run.for_memory]
    row = {"workload": runs[0].workload, "system": title}
    if not good:
        return row | {"failure": failed[0].failure}
    if failed:
        row["system"] += f", {len(failed)} of {len(runs)} starts failed"
    timed = [r for run in good for r in run.rounds[1:]]
    round_s = statistics.median(r["seconds"] for r in timed)
    return row | {
        "samples_per_s": spread(r["samples"] / r["seconds"] for r in timed),
        "startup_s": spread(run.first_round_s - round_s for run in good),
        "peak_pss_mb": max(run.peak_pss_mb for run in runs),
    }


def loops(workload, benches):
    """Return the rows of the loops without federation, from terrafl bench engine."""
    return [
        {
            "workload": workload,
            "system": title,
            "samples_per_s": spread(bench[key] for bench in benches),
        }
        for title, key in (
            ("no federation: plain loop", "plain_samples_per_s"),
            ("no federation: stock loop", "stock_samples_per_s"),
        )
        if benches
    ]


def spread(values):
    values = sorted(values)
    return {"median": statistics.median(values), "least": values[0], "most": values[-1]}


def markdown(rows):
    plain = {
        row["workload"]: row["samples_per_s"]["median"]
        for row in rows
        if row["system"] == "no federation: plain loop"
    }
    return "\n".join([HEAD, *(_line(row, plain.get(row["workload"])) for row in rows)])


def _line(row, plain):
    if "failure" in row:
        cells = [f"did not run: {row['failure'].replace('|', '/')}", "", "", ""]
    else:
        speed = row["samples_per_s"]
        cells = [
            "{median:,.0f} ({least:,.0f} to {most:,.0f})".format(**speed),
            f"{speed['median'] / plain:.2f}" if plain else "not measured",
            f"{row['startup_s']['median']:.1f}" if "startup_s" in row else "",
            f"{row['peak_pss_mb']:,.0f}" if "peak_pss_mb" in row else "",
        ]
    return f"| {' | '.join([row['workload'], row['system'], *cells])} |"
