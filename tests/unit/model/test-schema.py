#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test-schema.py SOURCE-ROOT: the JSON Schemas agree with the C validators, in TAP.

What the C validators say about these files is proved by test-files.py with the same table. Scalars
are loaded as strings, as vmatrix reads them. Files that only the C validators can judge are those
that EXPECTED marks yaml, names or value; the schema must accept the latter two, so that the list
cannot hide a gap in it.
"""
import json
import pathlib
import sys

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"1..0 # SKIP {error}: apt-get install python3-jsonschema python3-yaml")
    sys.exit(0)


def load_validator(root, kind):
    schema = json.loads((root / f"schema/{kind}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def errors_of(validator, path):
    document = yaml.load(path.read_bytes(), yaml.BaseLoader)
    return [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(document)]


def judge_invalid(validators, path, judge):
    if judge == "yaml":
        return None
    errors = errors_of(validators[path.name.split("-")[0]], path)
    if judge == "schema" and not errors:
        return "the schema accepts it"
    if judge in ("names", "value") and errors:
        return f"the schema refuses it, so it is of judge schema: {errors[0]}"
    return None


def main():
    root = pathlib.Path(sys.argv[1])
    validators = {kind: load_validator(root, kind) for kind in ("plan", "inventory")}
    invalid = root / "tests/data/invalid"
    results = []
    for line in (invalid / "EXPECTED").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, judge, _ = line.split(maxsplit=3)
            good = judge in ("schema", "yaml", "names", "value")
            results.append((name, judge_invalid(validators, invalid / name, judge) if good
                            else f"unknown judge {judge}"))
    good_files = [*(root / "tests/data/valid").glob("*.yaml"), *(root / "configs/plans").glob("*.yaml"),
                  *(root / "configs/inventory").glob("*.yaml")]
    for path in sorted(good_files):
        is_plan = path.name.startswith("plan-") or path.parent.name == "plans"
        errors = errors_of(validators["plan" if is_plan else "inventory"], path)
        results.append((str(path.relative_to(root)), errors[0] if errors else None))

    print(f"1..{len(results)}")
    for number, (name, problem) in enumerate(results, 1):
        print(f"{'ok' if problem is None else 'not ok'} {number} - {name}")
        if problem is not None:
            print(f"# {problem}")
    return any(problem is not None for _, problem in results)


if __name__ == "__main__":
    sys.exit(main())
