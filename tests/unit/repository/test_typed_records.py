# SPDX-License-Identifier: MIT
"""What is read from a recording has a class: JSON data stay in the functions that read them, or are named here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import mptcplab

PACKAGE = Path(mptcplab.__file__).parent
#: The rooms that read recordings and results folders.
ROOMS = (
    "metrics",
    "results",
    "report",
    "figure",
    "explain",
    "workload",
    "capture",
    "packs",
    "study",
    "api",
    "serve",
    "selftest",
)
#: What a recording has as JSON data.
SOURCES = ("manifest", "counter", "machine")
#: Functions that ask a recording for JSON data, beside those whose names begin with `read_` or `_read`.
ASKING = {
    "direction_counters": "reads the same counters of a node once for all its links",
    "links_of": "the room capture must not import the rooms that type links",
    "_settings": "the same",
}
#: Functions that return JSON data for a file or for a page's script.
WRITERS = ("to_json", "document", "_json", "_document", "experiment_document", "difference_json", "capacity_json")
#: Parameters, results and fields that may be JSON data, by the reason.
UNTYPED = {
    "they read JSON data into classes": (
        "StoredMetric.from_json", "StoredRow.from_json", "StoredResults.from_json", "read_failed_run",
        "LoggedRun.from_json", "MeasuredTable.from_json", "ShippedTable.from_json", "StoredCloud.from_json",
        "StoredCloudTable.from_json", "_read_cell", "SelftestVerdicts.from_json",
        "KernelEndpoint.from_json", "DisciplineCounters.from_json", "LinkDirection.from_json", "Ends.from_json",
        "RecordedWorkload.from_json", "RecordedTransport.from_json", "WorkloadBase.from_recording", "_parse_all",
        "_parse", "_node", "_build_sample", "_sample", "_LineEnds.place_of", "_parse_events", "_events",
        "_error_events",
    ),
    "keys of a scenario or of a study, which belong to the kinds of their tables": (
        "LinkDirection.keys", "RecordedWorkload.keys", "read_scenario",
        "LinkTable", "Table", "_scenario_to_draw", "scenario_of", "tables_without_defaults", "leave_to_traces",
        "scenario_toml", "_merge_directions", "_paths_of", "_resolve_value", "_to_json", "Twin.tables", "_use",
        "_table", "_claims",
    ),
    "the contract with campaign/contract.py, whose code is part of every run's identity": (
        "WorkloadBase.sends_to_client", "WorkloadBase.ends", "WorkloadBase._drop_unset",
    ),
    "what determined a run, which packs of strangers may have in any form": (
        "PackedRecording.facts", "RecordedRun.facts", "_differences", "run_digest",
    ),
    "rows of data frames": ("build_items_frame.rows", "_labels", "_run_row", "_table_row", "_frame"),
    "parts of JSON data that are written": (
        "ResultRow._overlaps_document", "ResultRow._metrics_document", "ResultRow._metric", "network_document",
        "Drawing.data", "OptionRecord.about", "SubflowEvent.about", "_file_document", "ExperimentFiles.write",
        "_conditions", "ResultsComparison.conditions", "_Draft.conditions", "BedReport.document",
        "ExperimentOutcome.document",
        "Reproduction.documents", "TableReport.document", "_changed_point", "_measurement_facts", "describe",
        "run_changes", "_beds_document", "_cell_document", "_claim_document", "_evidence_document", "_full_document",
        "_quantities", "parameters_document", "scoreboard_document", "study_document", "reference",
        "_text",
    ),
    "values of a sign by name, for its text": ("Sign.values",),
    "keyword arguments for matplotlib": ("_sign", "_entries", "_LOOKS"),
}  # fmt: skip


def _functions(room: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield all functions, classes and modules of a room with their names, inner ones after a dot."""
    for file in sorted((PACKAGE / room).rglob("*.py")):
        module = ast.parse(file.read_text())
        yield "", module
        yield from _inner(module, "")


def _inner(outer: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(outer):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield f"{prefix}{node.name}", node
            yield from _inner(node, f"{prefix}{node.name}.")


def _is_untyped(annotation: ast.AST | None) -> bool:
    parts = ast.walk(annotation) if annotation is not None else ()
    return any(
        isinstance(part, ast.Subscript) and ast.unparse(part) in ("dict[str, Any]", "Mapping[str, Any]")
        for part in parts
    )


def _list_untyped(room: str) -> Iterator[str]:
    """Yield the names of functions with such parameters or results, of such fields of classes, and of aliases."""
    for name, node in _functions(room):
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            is_writer = node.name in WRITERS and not any(_is_untyped(entry.annotation) for entry in arguments)
            if not is_writer and any(map(_is_untyped, (node.returns, *(entry.annotation for entry in arguments)))):
                yield name
        elif isinstance(node, (ast.ClassDef, ast.Module)):
            prefix = f"{name}." if name else ""
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and _is_untyped(line.annotation):
                    if "ClassVar" not in ast.unparse(line.annotation):
                        yield f"{prefix}{ast.unparse(line.target)}"
                elif isinstance(line, ast.Assign) and _is_untyped(line.value):
                    yield f"{prefix}{ast.unparse(line.targets[0])}"


def test_json_data_are_parsed_where_they_are_read() -> None:
    """A parameter, result or field of type `dict[str, Any]` needs a reason."""
    named = {name for names in UNTYPED.values() for name in names}
    untyped = {room: sorted(set(_list_untyped(room)) - named) for room in ROOMS}
    assert {room: names for room, names in untyped.items() if names} == {}, (
        "give them a class, or add a reason to UNTYPED"
    )


def test_the_list_of_reasons_has_no_other_names() -> None:
    untyped = {name for room in ROOMS for name in _list_untyped(room)}
    assert {name for names in UNTYPED.values() for name in names} - untyped == set()


def test_only_readers_ask_a_recording_for_json_data() -> None:
    """Everything else takes what they return."""
    asking = set()
    for room in ROOMS:
        for name, node in _functions(room):
            if not isinstance(node, ast.FunctionDef):
                continue
            parts = (part for part in ast.walk(node) if isinstance(part, ast.Attribute) and part.attr in SOURCES)
            if any(ast.unparse(part.value).startswith(("recording", "Recording(")) for part in parts):
                asking.add(name.rpartition(".")[2])
    others = {name for name in asking if not name.lstrip("_").startswith("read")}
    print(f"{len(asking)} functions read JSON data of recordings")
    assert len(asking) > 15, "the manifest, counters and the machine have readers"
    assert others == set(ASKING)
