"""What of each language's syntax tree is a definition, an import, a comment, a parameter. Data; read by `outline`.

Node types are those of the tree-sitter grammars named in `syntax`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["function", "class", "variable", "import", "heading", "table", "key"]


@dataclass(frozen=True, slots=True)
class Grammar:
    """The node types of one language."""

    definitions: Mapping[str, Kind]
    """What defines a name."""
    wrappers: frozenset[str] = frozenset()
    """What stands around one definition and belongs to it: decorators, `export`."""
    imports: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment"})
    attributes: frozenset[str] = frozenset()
    """What stands above a definition, is no comment, and belongs to it."""
    local: frozenset[str] = frozenset()
    """Within these, variables are not part of an outline."""
    parameters: frozenset[str] = field(default=frozenset({"parameters"}))
    """The lists of parameters."""


_SCRIPT = Grammar(
    definitions={
        "function_declaration": "function",
        "generator_function_declaration": "function",
        "function_signature": "function",
        "method_definition": "function",
        "method_signature": "function",
        "abstract_method_signature": "function",
        "class_declaration": "class",
        "abstract_class_declaration": "class",
        "interface_declaration": "class",
        "enum_declaration": "class",
        "type_alias_declaration": "class",
        "field_definition": "variable",
        "public_field_definition": "variable",
        "property_signature": "variable",
        "variable_declarator": "variable",
        "assignment_expression": "variable",
        "pair": "key",
    },
    wrappers=frozenset({"export_statement", "lexical_declaration", "variable_declaration", "expression_statement"}),
    imports=frozenset({"import_statement"}),
    attributes=frozenset({"decorator"}),
    local=frozenset(
        {"function_declaration", "generator_function_declaration", "method_definition", "arrow_function",
         "function_expression", "call_expression"}
    ),
    parameters=frozenset({"formal_parameters"}),
)  # fmt: skip
_C_DEFINITIONS: dict[str, Kind] = {
    "function_definition": "function",
    "declaration": "variable",
    "struct_specifier": "class",
    "union_specifier": "class",
    "enum_specifier": "class",
    "type_definition": "class",
    "field_declaration": "variable",
    "enumerator": "variable",
    "preproc_def": "variable",
    "preproc_function_def": "function",
}

GRAMMARS: dict[str, Grammar] = {
    "python": Grammar(
        definitions={"function_definition": "function", "class_definition": "class", "assignment": "variable"},
        wrappers=frozenset({"decorated_definition", "expression_statement"}),
        imports=frozenset({"import_statement", "import_from_statement", "future_import_statement"}),
        local=frozenset({"function_definition", "lambda"}),
        parameters=frozenset({"parameters"}),
    ),
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "go": Grammar(
        definitions={
            "function_declaration": "function",
            "method_declaration": "function",
            "type_spec": "class",
            "type_alias": "class",
            "const_spec": "variable",
            "var_spec": "variable",
            "field_declaration": "variable",
            "method_elem": "function",
        },
        wrappers=frozenset({"type_declaration", "const_declaration", "var_declaration"}),
        imports=frozenset({"import_declaration"}),
        local=frozenset({"function_declaration", "method_declaration", "func_literal"}),
        parameters=frozenset({"parameter_list"}),
    ),
    "rust": Grammar(
        definitions={
            "function_item": "function",
            "function_signature_item": "function",
            "macro_definition": "function",
            "struct_item": "class",
            "enum_item": "class",
            "union_item": "class",
            "trait_item": "class",
            "impl_item": "class",
            "mod_item": "class",
            "type_item": "class",
            "const_item": "variable",
            "static_item": "variable",
            "field_declaration": "variable",
            "enum_variant": "variable",
        },
        imports=frozenset({"use_declaration", "extern_crate_declaration"}),
        comments=frozenset({"line_comment", "block_comment"}),
        attributes=frozenset({"attribute_item"}),
        local=frozenset({"function_item", "closure_expression"}),
    ),
    "c": Grammar(
        definitions=_C_DEFINITIONS,
        imports=frozenset({"preproc_include"}),
        local=frozenset({"function_definition"}),
        parameters=frozenset({"parameter_list", "preproc_params"}),
    ),
    "cpp": Grammar(
        definitions={**_C_DEFINITIONS, "class_specifier": "class", "namespace_definition": "class"},
        wrappers=frozenset({"template_declaration"}),
        imports=frozenset({"preproc_include", "using_declaration"}),
        local=frozenset({"function_definition", "lambda_expression"}),
        parameters=frozenset({"parameter_list", "preproc_params"}),
    ),
    "java": Grammar(
        definitions={
            "class_declaration": "class",
            "interface_declaration": "class",
            "enum_declaration": "class",
            "record_declaration": "class",
            "method_declaration": "function",
            "constructor_declaration": "function",
            "variable_declarator": "variable",
            "enum_constant": "variable",
        },
        wrappers=frozenset({"field_declaration"}),
        imports=frozenset({"import_declaration"}),
        comments=frozenset({"line_comment", "block_comment"}),
        local=frozenset({"method_declaration", "constructor_declaration", "lambda_expression"}),
        parameters=frozenset({"formal_parameters"}),
    ),
    "toml": Grammar(definitions={"table": "table", "table_array_element": "table", "pair": "key"}),
    "json": Grammar(definitions={"pair": "key"}),
    "yaml": Grammar(definitions={"block_mapping_pair": "key"}),
    "markdown": Grammar(definitions={"section": "heading"}, comments=frozenset({"html_block"})),
}
