"""The context of a model is what its config.json was made for, and the same wherever it is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from lacli.models.prepare.folder import with_facts
from lacli.models.prepare.positions import most_positions
from lacli.models.registry.registry import load_registry, shipped_file


@pytest.mark.parametrize(
    ("config", "most"),
    [
        ({"max_position_embeddings": 64}, 64),
        ({"n_positions": 64}, 64),
        ({"max_position_embeddings": 64, "rope_parameters": {"rope_type": "dynamic", "factor": 4.0}}, 256),
        ({"max_position_embeddings": 64, "rope_scaling": {"type": "dynamic", "factor": 4.0}}, 256),
        ({"max_position_embeddings": 64, "rope_parameters": {"rope_type": "linear", "factor": 4.0}}, 64),
        ({"max_position_embeddings": 64, "rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, 256),
        (
            {
                "max_position_embeddings": 256,
                "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
            },
            256,
        ),
        ({"max_position_embeddings": 64, "rope_parameters": {"full_attention": {"rope_type": "default"}}}, 64),
        ({"max_position_embeddings": "x"}, None),
        ({}, None),
    ],
)
def test_scaled_rotary_embeddings_count_where_the_config_does_not_say_so_itself(
    config: dict[str, Any], most: int | None
) -> None:
    assert most_positions(config) == most


def test_a_prepared_model_has_the_whole_of_it_up_to_what_the_registry_allows() -> None:
    spec = load_registry([shipped_file()]).resolve(None)
    config = {"max_position_embeddings": 4096, "rope_parameters": {"rope_type": "dynamic", "factor": 1.5}}
    assert with_facts(spec, config, None).context == 6144
    assert with_facts(spec, {**config, "max_position_embeddings": 1 << 20}, None).context == spec.context
