"""What decides beside the code: variables that are set, and caches of what was compiled before."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from archscan.catalog.reading import rules_directory
from archscan.catalog.types import Catalog
from archscan.environment.facts import PackageFacts
from archscan.environment.jit_caches import HeldCache, held_caches
from archscan.environment.model import Row, State
from archscan.environment.shelves import Stock
from archscan.environment.variables import SetVariable, set_variables, with_places
from archscan.fixing.caches import known_caches
from archscan.model.target import Selection


@dataclass(frozen=True, slots=True)
class Around:
    """What is around an environment."""

    variables: tuple[SetVariable, ...] = ()
    caches: tuple[HeldCache, ...] = ()


def around(stock: Stock, rows: Sequence[Row], selection: Selection, catalog: Catalog, facts: PackageFacts) -> Around:
    """The variables of this process and the caches of this user."""
    readers = [row.installed for row in rows if row.state is not State.NO_CODE]
    variables = with_places(set_variables(facts.variables, os.environ, selection, catalog), readers)
    installed = {shelf.installed.key: shelf.installed for shelf in stock.shelves}
    caches = known_caches(rules_directory())
    return Around(variables, held_caches(caches, installed, facts, selection, catalog, os.environ))
