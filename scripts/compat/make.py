"""Makes the files: FOLDER/{duplicates,unique}/GROUP/NAME.parquet, one group for each name of a text column."""

import json
import sys
import warnings
from pathlib import Path

import make_others
import make_pyarrow
import texts as t
from registry import CASES

warnings.simplefilter("ignore")


def made(case, path, texts):
    """Why the writer did not write the file, if it did not."""
    try:
        case.make(str(path), texts)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # A panic of Polars is no Exception.
        path.unlink(missing_ok=True)
        return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return None


def main(folder, only):
    make_pyarrow.all_files()
    make_others.all_files()
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
    groups, listed, unmade = {}, [], {}
    for seed, case in enumerate(CASES):
        if only and not any(word in case.name for word in only):
            continue
        group = groups.setdefault(case.text, f"group{len(groups)}")
        for corpus in ("duplicates", "unique"):
            path = folder / corpus / group / f"{case.name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            why = made(case, path, t.texts(f"{seed} {corpus}", corpus == "duplicates"))
            if why:
                unmade[case.name] = why
        if case.name not in unmade:
            listed.append({k: getattr(case, k) for k in ("name", "writer", "text", "refused", "planted")} | {"group": group})
    (folder / "cases.json").write_text(json.dumps({"cases": listed, "unmade": unmade}))
    print(f"{len(listed)} files made, twice each; {len(unmade)} not:")
    for name, why in unmade.items():
        print(f"  {name}: {why}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
