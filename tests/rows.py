"""The rows of the comparison of the documents: id -> (what we do, the test that would fail if we did not).

D1 to D55 are places where a description of these tools contradicts itself, is wrong or leaves something open; V1 to V40
are places where an implementation does otherwise than described. A row without a test says why there is nothing to test.
"""

from __future__ import annotations

from typing import Final

ROWS: Final[dict[str, tuple[str, str]]] = {
    "D1": (
        "Only a document counts its groups of tools; ours are listed one by one and no number of groups is stated.",
        "",
    ),
    "D2": (
        "The version that is told is the one of the installed distribution.",
        "tests/test_surface.py::test_the_version_is_that_of_the_distribution",
    ),
    "D3": (
        "An absolute path is taken below a root and refused elsewhere.",
        "tests/workspace/test_paths.py::test_what_is_admitted",
    ),
    "D4": (
        "A path with a colon is refused everywhere, with a form that would be taken.",
        "tests/workspace/test_paths.py::test_refusals_hold_the_path_in_quotes_the_rule_and_a_form_that_would_be_accepted",
    ),
    "D5": (
        "Arithmetic is exact; a number is given as a decimal only if it is no integer.",
        "tests/tools/test_utility_calculator.py::test_numbers_are_exact_and_an_integer_is_an_integer",
    ),
    "D6": (
        "A minus may stand wherever an operand may, and belongs to it.",
        "tests/tools/test_utility_calculator.py::test_operators_bind_as_in_arithmetic",
    ),
    "D7": (
        "2*(3+4) gives 14, as a number and as text.",
        "tests/tools/test_utility_calculator.py::test_the_text_for_a_model_is_the_number",
    ),
    "D8": (
        "A password of length 24 has 24 characters.",
        "tests/tools/test_utility_made.py::test_a_password_has_16_characters_unless_told_otherwise",
    ),
    "D9": (
        "Passwords come from the random source of the system, which no seed repeats.",
        "tests/test_rows.py::test_no_seed_repeats_an_identifier_or_a_password",
    ),
    "D10": (
        "Characters are code points, neither bytes nor a guess.",
        "tests/tools/test_utility_text.py::test_characters_words_and_lines_are_counted",
    ),
    "D11": (
        "Words are what stands between blanks of any kind.",
        "tests/tools/test_utility_text.py::test_the_counts_follow_their_definition",
    ),
    "D12": (
        "JSON is laid out with commas and one member on a line, however short.",
        "tests/tools/test_utility_json.py::test_members_stand_on_lines_of_their_own_in_their_order",
    ),
    "D13": (
        "Another algorithm is refused, never replaced by one that is offered.",
        "tests/tools/test_utility_text.py::test_another_algorithm_is_refused_and_never_replaced",
    ),
    "D14": (
        "An unknown unit is refused, never taken for another.",
        "tests/tools/test_utility_temperature.py::test_an_unknown_unit_is_refused_and_not_taken_for_celsius",
    ),
    "D15": (
        "A percent sign that begins no byte is refused at its place; no character is lost.",
        "tests/tools/test_utility_text.py::test_a_percent_sign_without_two_hex_digits_is_refused_where_it_stands",
    ),
    "D16": (
        "An error page is no page to read_webpage, where fetch_url gives every status as an answer.",
        "tests/tools/test_web_read.py::test_read_webpage_takes_no_error_page_for_a_page",
    ),
    "D17": (
        "Lengths count characters; the length given and the length there are both told.",
        "tests/tools/test_web_read.py::test_fetch_url_gives_the_source_and_its_lengths",
    ),
    "D18": (
        "Every address is checked to be public, and again at each redirect.",
        "tests/web/test_client.py::test_a_redirect_to_a_private_address_is_refused_before_it_is_asked",
    ),
    "D19": (
        "A refusal of the search service is an error, never an empty list.",
        "tests/web/test_search.py::test_a_refusal_or_a_page_that_cannot_be_read_is_never_an_empty_list",
    ),
    "D20": (
        "A file that is no text comes as base64 with its encoding named.",
        "tests/tools/test_read.py::test_what_is_no_text_comes_as_base64",
    ),
    "D21": (
        "Line numbers are four wide, then a tab.",
        "tests/tools/test_read.py::test_lines_are_numbered_in_width_four_with_a_tab",
    ),
    "D22": (
        "The offset is the number of lines to skip; 0 skips none.",
        "tests/tools/test_read.py::test_a_window_has_absolute_numbers_and_says_where_to_read_on",
    ),
    "D23": (
        "Only files have a size; it is null for everything else.",
        "tests/tools/test_ls.py::test_entries_have_name_type_size_and_time",
    ),
    "D24": (
        "A star stays within one name; two stars cross folders.",
        "tests/tools/test_find.py::test_what_a_pattern_finds",
    ),
    "D25": (
        "Paths come sorted.",
        "tests/tools/test_find.py::test_past_the_limit_the_total_is_true_and_the_cut_is_marked",
    ),
    "D26": (
        "A search never follows a link.",
        "tests/tools/test_find.py::test_links_are_found_as_any_and_never_followed",
    ),
    "D27": (
        "The expressions are those of RE2, and the engine is named.",
        "tests/tools/test_grep_tool.py::test_what_a_call_gives",
    ),
    "D28": (
        "Lines around a match are given when asked for.",
        "tests/tools/test_grep.py::test_context_lines_join_overlapping_groups",
    ),
    "D29": (
        "A missing pattern has the marker of a search, not of a path.",
        "tests/tools/test_grep_tool.py::test_what_is_refused_and_with_which_marker",
    ),
    "D30": (
        "What a miss says of the old text is in the words of the arguments.",
        "tests/test_rows.py::test_an_old_text_that_is_absent_is_told_in_the_words_of_the_arguments_under_the_marker_of_edit",
    ),
    "D31": (
        "The first occurrence changes, and the others are told.",
        "tests/tools/test_edit.py::test_the_first_occurrence_changes_and_the_others_are_said_aloud",
    ),
    "D32": (
        "All positions are those of the original text, so the order of the edits does not matter.",
        "tests/tools/test_edits.py::test_edits_in_any_order_give_the_same_and_see_only_the_original",
    ),
    "D33": (
        "A failed edit has a marker of its own.",
        "tests/test_rows.py::test_an_old_text_that_is_absent_is_told_in_the_words_of_the_arguments_under_the_marker_of_edit",
    ),
    "D34": (
        "A write happens as a whole or not at all, whenever it is broken off.",
        "tests/workspace/test_atomic.py::test_a_writer_killed_at_any_moment_leaves_a_whole_file",
    ),
    "D35": (
        "A list of words can still start a shell, so what the shell would run is judged too.",
        "tests/shell/test_rules.py::test_a_rule_hits_every_spelling_of_what_it_is_for",
    ),
    "D36": (
        "Only a document claims checks at compile time; ours are made when a command is asked for, and we say so.",
        "",
    ),
    "D37": (
        "A command has the time that it asks for, and no other limit of the tool cuts it.",
        "tests/test_rows.py::test_no_limit_of_the_tool_cuts_a_command_that_may_take_longer",
    ),
    "D38": (
        "Without confinement a command is refused.",
        "tests/sandbox/test_confined.py::test_what_cannot_be_enforced_is_refused_and_never_runs_weaker",
    ),
    "D39": (
        "There is always a clock: a command over its time is ended.",
        "tests/sandbox/test_ending.py::test_a_command_over_its_time_is_ended_with_all_that_it_started",
    ),
    "D40": ("Every example that we show is run.", "tests/test_readme.py::test_a_python_block_runs"),
    "D41": (
        "The environment is not an argument; a call that gives one is refused.",
        "tests/tools/test_bash.py::test_what_cannot_be_run_has_a_code",
    ),
    "D42": (
        "A secret stays with the host, which sends it itself to its own server alone.",
        "tests/web/test_client.py::test_headers_of_an_origin_go_to_that_origin_alone",
    ),
    "D43": (
        "A leading tilde is refused as a protected place.",
        "tests/workspace/test_paths.py::test_each_rule_has_its_code_and_the_first_broken_rule_decides",
    ),
    "D44": (
        "A drive letter is a colon like any other.",
        "tests/workspace/test_paths.py::test_each_rule_has_its_code_and_the_first_broken_rule_decides",
    ),
    "D45": (
        "The system confines a command, not the folder that it starts in.",
        "tests/sandbox/test_confined.py::test_nothing_outside_can_be_read",
    ),
    "D46": (
        "A refusal names another way to the goal, never another policy.",
        "tests/test_rows.py::test_a_refused_command_is_told_another_way_and_never_another_policy",
    ),
    "D47": (
        "A refusal shows the words of the command as JSON.",
        "tests/tools/test_bash.py::test_a_policy_teaches_before_the_system_refuses",
    ),
    "D48": (
        "What may only read sees a workspace that the system makes read-only.",
        "tests/tools/test_bash.py::test_a_policy_decides_whether_the_workspace_can_be_written",
    ),
    "D49": (
        "Critical is what breaks a rule that stands for harm.",
        "tests/shell/test_risk.py::test_the_highest_level_of_all_commands_counts",
    ),
    "D50": (
        "Every code that can be raised stands in one table.",
        "tests/test_codes.py::test_every_code_that_is_raised_is_in_the_table",
    ),
    "D51": (
        "The host names whose memory it is, and the history is searched within that alone.",
        "tests/memory/test_history.py::test_another_scope_is_never_searched",
    ),
    "D52": (
        "The messages of a search are bounded, not only the sessions.",
        "tests/memory/test_history.py::test_at_most_fifty_messages_come_back_and_more_is_said",
    ),
    "D53": (
        "The count is the number of results given.",
        "tests/tools/test_memory.py::test_the_examples_work_as_they_stand",
    ),
    "D54": (
        "A cut is marked and counted, and both ends are kept, because what went wrong is usually said last.",
        "tests/tools/test_bash.py::test_output_is_capped_cleaned_and_says_what_is_missing",
    ),
    "D55": (
        "Commands are judged and asked for whatever the default allows.",
        "tests/tools/test_bash.py::test_by_itself_it_asks_whatever_the_default_allows",
    ),
    "V1": (
        "What has a default may be left out.",
        "tests/test_rows.py::test_what_has_a_default_may_be_left_out",
    ),
    "V2": (
        "What a tool demands of its callers, its time and its number at once are enforced.",
        "tests/test_rows.py::test_what_a_tool_declares_of_callers_time_and_number_at_once_is_enforced",
    ),
    "V3": (
        "Waiting for a call to end costs no processor time.",
        "tests/test_rows.py::test_waiting_for_the_end_of_a_calls_time_costs_no_processor",
    ),
    "V4": (
        "What is no arithmetic is refused where it stands, never half read.",
        "tests/tools/test_utility_calculator.py::test_what_is_no_arithmetic_is_refused_where_it_stands",
    ),
    "V5": (
        "Wildcards match, in names and in paths.",
        "tests/tools/test_find.py::test_what_a_pattern_finds",
    ),
    "V6": (
        "A match may stand anywhere in a line, in a folder or a file, and comes in order with its whole path.",
        "tests/tools/test_grep_tool.py::test_what_a_call_gives",
    ),
    "V7": (
        "Text, bytes, a limit of none and a missing file each have an answer of their own.",
        "tests/test_rows.py::test_each_kind_of_read_has_its_own_answer_and_none_names_a_folder_of_the_host",
    ),
    "V8": (
        "The new text is literal, whatever it looks like.",
        "tests/tools/test_edit.py::test_new_text_is_literal",
    ),
    "V9": (
        "A write without content is refused and makes nothing.",
        "tests/test_rows.py::test_a_write_without_content_is_refused_and_makes_nothing",
    ),
    "V10": (
        "HTTPS works, and a certificate is checked with the authorities that the host trusts.",
        "tests/web/test_tls.py::test_a_page_comes_from_a_server_whose_authority_the_host_trusts",
    ),
    "V11": (
        "A scheme that is not taken is the caller's mistake, and repeating it is of no use.",
        "tests/tools/test_web_read.py::test_what_cannot_be_fetched_is_refused",
    ),
    "V12": (
        "The environment of a command is built from nothing.",
        "tests/sandbox/test_confined.py::test_the_environment_is_built_from_nothing",
    ),
    "V13": (
        "What a command started and left behind is ended too.",
        "tests/sandbox/test_ending.py::test_children_that_outlive_the_command_are_ended_and_hold_nothing_open",
    ),
    "V14": (
        "The time of a command may be an integer.",
        "tests/tools/test_bash.py::test_a_host_gets_text_and_typed_errors",
    ),
    "V15": ("More than 600 s are refused.", "tests/tools/test_bash.py::test_what_cannot_be_run_has_a_code"),
    "V16": (
        "A command that is ended by time has run until then, and what it printed is kept.",
        "tests/tools/test_bash.py::test_a_command_over_its_time_is_ended_and_what_it_printed_is_kept",
    ),
    "V17": (
        "Of a flood only what is kept takes memory; the rest is counted.",
        "tests/sandbox/test_capture.py::test_a_flood_is_counted_and_not_kept",
    ),
    "V18": (
        "A word that is no text is refused, not dropped.",
        "tests/tools/test_bash.py::test_what_cannot_be_run_has_a_code",
    ),
    "V19": (
        "A signal is 128 and its number.",
        "tests/sandbox/test_ending.py::test_a_signal_is_told_as_a_shell_would",
    ),
    "V20": (
        "Processor time and memory of a policy are enforced.",
        "tests/tools/test_bash.py::test_processor_time_and_memory_are_those_of_the_policy",
    ),
    "V21": (
        "Each command of a pipeline is judged.",
        "tests/tools/test_bash.py::test_a_filter_of_the_host_decides_and_one_that_raises_refuses",
    ),
    "V22": (
        "What may only read is refused the same harmful commands.",
        "tests/test_rows.py::test_every_policy_refuses_the_same_harmful_commands",
    ),
    "V23": (
        "A program under any name writes nothing where only reading is allowed.",
        "tests/tools/test_bash.py::test_a_policy_decides_whether_the_workspace_can_be_written",
    ),
    "V24": (
        "A rule hits its command in every spelling.",
        "tests/shell/test_rules.py::test_a_rule_hits_every_spelling_of_what_it_is_for",
    ),
    "V25": (
        "What only looks harmful is let through.",
        "tests/shell/test_rules.py::test_what_only_looks_harmful_is_let_through",
    ),
    "V26": (
        "A long time raises a low risk and lowers none.",
        "tests/shell/test_risk.py::test_a_long_time_limit_raises_it_and_lowers_nothing",
    ),
    "V27": (
        "A sequence that steers a terminal is removed in each of its forms.",
        "tests/sandbox/test_clean.py::test_what_steers_a_terminal_goes_and_what_hides_is_shown",
    ),
    "V28": (
        "A refused command is an event like one that ran.",
        "tests/tools/test_bash.py::test_a_refused_command_is_on_the_record_too",
    ),
    "V29": (
        "A link that leaves the workspace is refused, also for what does not exist yet.",
        "tests/workspace/test_links.py::test_a_link_that_leaves_is_refused_for_reading_and_writing",
    ),
    "V30": (
        "Protected places end at a slash, and a workspace below one is usable.",
        "tests/workspace/test_protect.py::test_system_places_are_protected_below_a_root_that_holds_them_and_not_below_one_inside",
    ),
    "V31": (
        "A missing path and a missing pattern have their codes.",
        "tests/tools/test_absent.py::test_what_is_missing_is_named_by_its_own_code",
    ),
    "V32": (
        "The rule that was broken gives the code, not the text of the message.",
        "tests/workspace/test_paths.py::test_each_rule_has_its_code_and_the_first_broken_rule_decides",
    ),
    "V33": (
        "Edit has its codes and markers from the table like every tool.",
        "tests/test_rows.py::test_an_old_text_that_is_absent_is_told_in_the_words_of_the_arguments_under_the_marker_of_edit",
    ),
    "V34": (
        "The name of the scope is no word of a memory.",
        "tests/memory/test_store.py::test_a_query_equal_to_the_name_of_the_scope_finds_nothing",
    ),
    "V35": (
        "A message is found once, also in the current session.",
        "tests/memory/test_history.py::test_what_was_said_again_in_a_session_is_found_once",
    ),
    "V36": (
        "The memory tools are offered with their descriptions and schemas.",
        "tests/test_rows.py::test_the_memory_tools_are_offered_with_descriptions_and_schemas",
    ),
    "V37": (
        "Who approves a command sees its exact words.",
        "tests/tools/test_bash.py::test_an_approver_sees_the_exact_words",
    ),
    "V38": (
        "A text contains any part of it, the empty one too, and only numbers are compared.",
        "tests/test_rows.py::test_a_text_contains_any_part_of_it_and_only_numbers_are_compared",
    ),
    "V39": (
        "Only strict JSON is laid out.",
        "tests/tools/test_utility_json.py::test_any_text_is_taken_exactly_if_the_standard_library_takes_it",
    ),
    "V40": (
        "Identifiers come from the random source of the system, which no seed repeats.",
        "tests/test_rows.py::test_no_seed_repeats_an_identifier_or_a_password",
    ),
}
