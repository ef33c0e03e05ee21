"""Runs a notebook, and fails where a cell does, or where the file keeps outputs."""

import json
import sys

import nbclient
import nbformat

path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    text = file.read()
for cell in json.loads(text)["cells"]:
    if cell.get("outputs") or cell.get("execution_count"):
        sys.exit(f"{path}: a cell keeps its output; clear it (`jupyter nbconvert --clear-output --inplace`)")
notebook = nbformat.reads(text, as_version=4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print(f"{path}: {len(notebook.cells)} cells ran")
