"""Runs neardup on the files, compares every output with its input, and prints what came of it."""

import json
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import texts as t
from limits import LIMITS, Limit, judged

CORPORA, MODES = ("duplicates", "unique"), ("drop", "annotate")
RUNS = [(corpus, mode) for corpus in CORPORA for mode in MODES]
ADDED = ("dedup_cluster", "dedup_keep")
NOT_READ, ABSENT = "-", "r"


def run(binary, folder, corpus, group, text):
    """Runs both modes until nothing is refused any more.

    Returns the refusals by file, the decisions by mode, and another failure."""
    source, place = folder / corpus / group, folder / "run" / corpus / group
    place.mkdir(parents=True)
    aside = place / "refused"
    refused, told = {}, {}
    for mode in MODES:
        manifest = place / f"{mode}.toml"
        manifest.write_text(
            f"[input]\npaths = {json.dumps(str(source))}\ntext = {json.dumps(text, ensure_ascii=False)}\nid = \"id\"\n"
            f"[run]\nwork = {json.dumps(str(place / 'work'))}\n"
            f"[filter]\noutput = {json.dumps(str(place / mode))}\nmode = \"{mode}\"\n")
        while True:
            done = subprocess.run([binary, "run", manifest], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                break
            named = re.search(re.escape(f"{source}/") + r"([^`:]+?\.parquet)", done.stderr)
            if done.returncode != 3 or not named or named[1] in refused:
                return refused, told, f"{mode}: exit {done.returncode}: {' '.join(done.stderr.split())[-400:]}"
            errors = [line for line in done.stderr.splitlines() if named[1] in line]
            refused[named[1]] = f"{mode}: {errors[-1].strip()}"
            aside.mkdir(exist_ok=True)
            (source / named[1]).rename(aside / named[1])
        told[mode] = decisions(place)
    return refused, told, None


def decisions(place):
    """Cluster, keep and id by row, by file."""
    import pyarrow.parquet as pq

    found = {}
    for row in pq.read_table(place / "work" / "clusters.parquet").to_pylist():
        found.setdefault(row["file"], {})[row["row"]] = row
    return found


def check_clusters(case, corpus, rows):
    """The clusters are those that were planted, and each keeps one."""
    clusters = {}
    for row, told in rows.items():
        clusters.setdefault(told["cluster_id"], []).append((row, told["keep"]))
    expected = t.groups() if corpus == "duplicates" and case["planted"] else []
    merged = sorted(sorted(row for row, _ in members) for members in clusters.values())
    if merged != expected:
        return f"clusters {merged}, and {expected} were planted"[:300]
    if any(sum(keep for _, keep in members) != 1 for members in clusters.values()):
        return "a cluster does not keep just one row"
    return None


def check_ids(path, rows):
    """The ids in clusters.parquet are those of the rows, as text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids = pq.ParquetFile(path).read(columns=["id"]).column(0)
    if not (pa.types.is_integer(ids.type) or pa.types.is_string(ids.type) or pa.types.is_dictionary(ids.type)):
        return None
    ids = ids.to_pylist()
    wrong = [row for row, told in rows.items() if told["id"] != (None if ids[row] is None else str(ids[row]))]
    return f"the id of row {wrong[0]} is {rows[wrong[0]]['id']!r}, not {ids[wrong[0]]!r}" if wrong else None


def compare(case, folder, told):
    """Results by (column of the table, run): None where equal, NOT_READ, or what differs."""
    import structure
    from footer import Footer
    from readers import READERS

    results, unread, name = {}, {}, f"{case['name']}.parquet"
    for (corpus, mode), rows in told.items():
        key, place = (corpus, mode), folder / "run" / corpus / case["group"]
        path, out = folder / corpus / case["group"] / name, place / mode / name
        if not path.exists():
            path = place / "refused" / name
        before = Footer(path)
        count = before.meta[3]
        clusters = [rows[row]["cluster_id"] if row in rows else None for row in range(count)]
        keeps = [rows[row]["keep"] if row in rows else True for row in range(count)]
        marks = dict(zip(ADDED, (clusters, keeps))) if mode == "annotate" else None
        keep = keeps if mode == "drop" else [True] * count
        results["clusters", key] = check_clusters(case, corpus, rows)
        results["footer", key] = attempt("footer", lambda: structure.compare(
            before, Footer(out), keep, ADDED if marks else ()))
        if readable(path):
            results["ids", key] = attempt("ids", lambda: check_ids(path, rows))
            results["bounds", key] = attempt("bounds", lambda: [] if structure.bounds(path) else structure.bounds(out))
        for engine in ("DuckDB", "DataFusion", "Polars") if readable(path) else ():
            results[f"{engine} =", key] = attempt(
                engine, lambda e=engine: check_lookups(path, out, keep, e))
        for reader in READERS:
            try:
                was = reader.read(str(path))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # A panic of Polars is no Exception.
                results[reader.name, key] = NOT_READ
                unread[reader.name] = " ".join(f"{type(error).__name__}: {error}".split())[:140]
                continue
            results[reader.name, key] = attempt(
                reader.name, lambda r=reader, w=was: r.difference(w, r.read(str(out)), keep, marks))
    return results, unread


def check_lookups(path, out, keep, engine):
    """An engine that skips row groups and pages finds the ids that stayed, and no others."""
    import pyarrow.parquet as pq
    from readers import lookups

    try:
        lookups(str(path), engine, 1)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return NOT_READ
    ids = pq.ParquetFile(path).read(columns=["id"]).column(0).to_pylist()
    kept = {value for value, kept in zip(ids, keep) if kept}
    found = lookups(str(out), engine, 4)
    wrong = [value for value, count in found.items() if count != (value in kept)]
    return f"{found[wrong[0]]} rows have id {wrong[0]}" if wrong else None


def readable(path):
    """Whether pyarrow, by which ids and bounds are checked, reads the input."""
    from readers import read_pyarrow

    try:
        return read_pyarrow(path) is not None
    except Exception:
        return False


def attempt(column, check):
    """What `check` finds: None, a message, or a list of them; an error is a message as well."""
    try:
        found = check()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        found = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    if found == NOT_READ:
        return found
    return judged(column, [found] if isinstance(found, str) else found or [])


def compare_all(cases, folder, told):
    """`compare` for each case, in processes, since a reader may take its process with it."""
    outcome, waiting = {}, list(cases)
    while waiting:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            jobs = [(case, pool.submit(compare, case, folder, told[case["name"]])) for case in waiting]
            waiting = []
            for case, job in jobs:
                try:
                    outcome[case["name"]] = job.result()
                except BrokenProcessPool:
                    waiting.append(case)
        if waiting and len(waiting) == len(jobs):
            case = waiting.pop(0)
            outcome[case["name"]] = ({("process", run): "a reader crashed" for run in RUNS}, {})
    return outcome


def print_table(cases, outcome, columns):
    width = max(len(case["name"]) for case in cases)
    print(f"\nEach cell: {', '.join(f'{corpus} {mode}' for corpus, mode in RUNS)}; "
          f"`.` equal, `F` differs, `{NOT_READ}` the reader cannot read the input, "
          f"`{ABSENT}` refused, `l` a known limit\n")
    print(f"{'file':{width}}  " + "  ".join(f"{column:12}" for column in columns))

    def letter(result):
        if isinstance(result, Limit):
            return "l"
        return "." if result is None else result if result in (NOT_READ, ABSENT) else "F"

    def failed(case):
        return any(letter(r) == "F" for r in outcome[case["name"]][0].values())

    for case in sorted(cases, key=lambda case: (not failed(case), case["name"])):
        results = outcome[case["name"]][0]
        cells = ("".join(letter(results.get((column, run), ABSENT)) for run in RUNS) for column in columns)
        print(f"{case['name']:{width}}  " + "  ".join(f"{cell:12}" for cell in cells))
    for case in cases:
        for (column, key), result in outcome[case["name"]][0].items():
            if letter(result) == "F":
                print(f"FAILED {case['name']}, {column}, {' '.join(key)}: {result}")


def main(binary, folder):
    data = json.loads((folder / "cases.json").read_text())
    groups = {case["group"]: case["text"] for case in data["cases"]}
    failures, refused, told = [], {}, {case["name"]: {} for case in data["cases"]}
    for corpus in CORPORA:
        for group, text in groups.items():
            turned, decided, failure = run(binary, folder, corpus, group, text)
            if failure:
                failures.append(f"{corpus} {group} (`{text}`): {failure}")
                continue
            refused |= {name.removesuffix(".parquet"): why for name, why in turned.items()}
            for case in data["cases"]:
                name = f"{case['name']}.parquet"
                for mode in MODES if case["group"] == group else ():
                    if not turned.get(name, "annotate").startswith("drop") and (mode == "drop" or name not in turned):
                        told[case["name"]][corpus, mode] = decided[mode].get(name, {})
    for case in data["cases"]:
        name, why = case["name"], refused.get(case["name"])
        if why and not (case["refused"] and case["refused"] in why):
            failures.append(f"{name} was refused: {why}")
        if case["refused"] and not why:
            failures.append(f"{name} was not refused")
    cases = [case for case in data["cases"] if told[case["name"]]]
    outcome = compare_all(cases, folder, told)
    columns = ["clusters", "ids", "footer", "bounds"]
    columns += sorted({c for results, _ in outcome.values() for c, _ in results} - set(columns), key=str.lower)
    for failure in failures:
        print(f"FAILED {failure}")
    print_table(cases, outcome, columns)
    totals(data, cases, outcome, refused, failures)


def totals(data, cases, outcome, refused, failures):
    print("\nRefused as expected:")
    for case in data["cases"]:
        if case["refused"] and case["name"] in refused:
            print(f"  {case['name']}: {refused[case['name']]}")
    print("Not read by a reader, input as little as output:")
    for case in cases:
        for reader, why in outcome[case["name"]][1].items():
            print(f"  {case['name']}, {reader}: {why}")
    results = [r for o, _ in outcome.values() for r in o.values()]
    known = [r for r in results if isinstance(r, Limit)]
    different = [r for r in results if r not in (None, NOT_READ) and not isinstance(r, Limit)]
    print("Known limits:")
    for *_, why in LIMITS:
        print(f"  {known.count(why):4} {why}")
    made, writers = len(data["cases"]), {case["writer"] for case in data["cases"]}
    print(f"\n{made} files of {len(writers)} writers, each with and without duplicates; {len(data['unmade'])} not made; "
          f"{len(cases)} compared, {len(refused)} refused")
    print(f"{len(results) - results.count(NOT_READ)} comparisons, {results.count(NOT_READ)} inputs that a reader cannot read")
    print(f"{len(known)} known limits, {len(failures) + len(different)} failures")
    sys.exit(1 if failures or different else 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
