"""What users of such tools complain of most, row by row of ux.md §3: the tests that hold lacli to the opposite.

A row is a pointer; the test here fails where what it points to is gone. 27 (snapshots) is the terminal UI's alone, and
of 17, 18 and 19 only what belongs to the command line is named.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.cli.conftest import ROOT

UI_ONLY = (27,)
TESTS: dict[int, tuple[str, ...]] = {
    # --help takes seconds
    1: ("test_help_imports_nothing_heavy",),
    # Ctrl-C kills the whole chat
    2: (
        "test_ctrl_c_keeps_the_partial_reply_and_returns_to_the_prompt",
        "test_ctrl_c_while_the_model_loads_gives_the_question_back_and_loading_goes_on",
    ),
    # pasted lines are sent one by one
    3: (
        "test_five_hundred_pasted_lines_are_one_question",
        "test_pasted_lines_are_one_question",
    ),
    # echo … | chat cannot go on
    4: (
        "test_with_a_prompt_or_piped_stdin_it_is_one_turn",
        "test_after_a_pipe_further_turns_come_from_the_terminal",
        "test_the_next_question_is_typed_where_the_first_was_piped",
    ),
    # no guard for too long input
    5: (
        "test_codes_that_the_engine_ends_with",
        "test_too_long_is_an_error_with_the_numbers",
    ),
    # no Markdown rendering
    6: (
        "test_shows_markdown_with_styles",
        "test_shows_it_as_it_is_where_asked_to_or_it_can_do_no_better",
    ),
    # a plain-text log of private prompts
    7: (
        "test_folder_and_file_are_private_whatever_the_umask",
        "test_no_log_writes_nothing_at_all",
        "test_logs_off_keeps_numbers_and_no_word",
        "test_old_ones_go_by_age",
    ),
    # a prompt is cut silently
    8: (
        "test_oldest_turns_are_dropped_where_that_is_allowed_and_it_is_said",
        "test_the_reply_says_what_was_left_out_and_carries_what_was_shown",
    ),
    # escape codes in redirected output
    9: (
        "test_every_byte_is_as_expected",
        "test_an_escape_sequence_reaches_a_pipe_only_where_the_case_says_that_the_content_has_one",
    ),
    # fetching stalls, restarts
    10: (
        "test_a_network_that_hangs_is_given_up",
        "test_is_not_fetched_twice",
        "test_what_a_kill_left_is_swept",
    ),
    # out of memory only later
    11: (
        "test_what_does_not_fit_is_exit_4_with_what_would",
        "test_the_cache_is_counted_from_the_configuration",
    ),
    # nothing is printed without a terminal; quiet is not quiet
    12: ("test_every_byte_is_as_expected", "test_quiet_shows_the_text_only"),
    # hangs on a silent stdin
    13: (
        "test_a_silent_stdin_is_named_after_a_while",
        "test_a_silent_stdin_that_is_inherited_is_named_and_can_be_left_out",
    ),
    # a script falls into interactive mode
    14: (
        "test_without_a_terminal_there_is_one_turn_and_never_a_prompt",
        "test_nothing_to_ask_is_exit_2",
    ),
    # UnicodeEncodeError of the locale
    15: (
        "test_text_is_utf8_in_a_locale_that_is_not",
        "test_gets_utf8_whatever_python_was_told",
    ),
    # edits change line ends
    16: (
        "test_the_file_keeps_its_form",
        "test_random_edits_read_as_intended_and_keep_all_other_lines_byte_for_byte",
        "test_an_encoding_is_kept",
    ),
    # rendering pins a core
    17: (
        "test_draws_an_open_line_anew_ten_times_a_second_at_most",
        "test_prints_each_finished_line_once",
    ),
    # cannot cancel; Enter and newline
    18: ("test_ctrl_j_makes_a_line_and_so_does_enter_between_quotes",),
    # scrollback is lost: the conversation without a full screen
    19: ("test_never_touches_rows_that_have_left_the_screen",),
    # chats are lost
    20: (
        "test_each_is_kept_and_the_next_goes_on_with_it",
        "test_a_conversation_goes_on_where_it_was_left",
    ),
    # no numbers
    21: (
        "test_stats_is_one_json_line_with_the_agreed_keys",
        "test_verbose_gives_the_line_for_people",
    ),
    # the model is loaded for each prompt (the server that holds it is another issue's)
    22: (
        "test_a_chat_keeps_its_cache_between_turns",
        "test_the_model_is_loaded_once_and_each_has_its_text",
    ),
    # guessing is slower than none
    23: (
        "test_a_source_that_is_always_wrong_sleeps_longer_each_time_and_wakes",
        "test_the_line_tells_time_saved_and_time_lost",
    ),
    # acceptance means three things
    24: (
        "test_tokens_per_step_leaves_out_the_first_token_of_every_reply",
        "test_the_record_of_a_reply_holds_the_counts_under_the_same_names",
    ),
    # a completion repeats the suffix
    25: (
        "test_whatever_is_replied_the_completion_keeps_to_its_place",
        "test_no_completion_repeats_the_suffix_or_runs_past_its_block",
    ),
    # a cached model needs the network; bars flood logs
    26: (
        "test_is_fetched_from_the_named_host_and_then_never_asked_again",
        "test_notices_go_to_stderr_and_loading_is_silent_in_a_pipe",
    ),
}


@cache
def known() -> frozenset[str]:
    """The names of all tests, wherever they are."""
    names: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        names.update(re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    return frozenset(names)


@pytest.mark.parametrize("row", range(1, 28))
def test_every_complaint_has_its_tests(row: int) -> None:
    if row not in UI_ONLY:
        assert set(TESTS[row]) <= known()
