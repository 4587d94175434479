"""Save a notebook, as the server does, and say which version is saved. Argument: how many, if not two."""

import sys

import nbformat.v4
from jupyter_server.services.contents.filemanager import FileContentsManager

count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
manager = FileContentsManager(root_dir="data")
for number in range(count + 1):
    cell = nbformat.v4.new_code_cell(f"print({number})", id="only")
    manager.save({"type": "notebook", "content": nbformat.v4.new_notebook(cells=[cell])}, "work.ipynb")
    print("saved", number, flush=True)
