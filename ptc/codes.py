"""The one table of error codes.

Every refusal and failure of ptc carries a code from this table; descriptions, documentation and tests are made from
it. A code fixes four facts, so that no caller ever has to read prose to decide what to do:

category    who or what was in the way (see CATEGORIES)
retryable   True only if the *identical* call may work later
marker      the tag that opens the message, so that a model can be told about it in a tool description
meaning     one line for the documentation

Codes are chosen by typed errors, never by searching text. This module imports nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

CATEGORIES: Final = (
    "invalid_input",  # the caller must change the arguments
    "permission_denied",  # the caller may not do this, whatever the arguments' form
    "limit",  # a bound of the session or the program was reached
    "timeout",  # time ran out
    "cancelled",  # somebody called it off
    "rate_limited",  # busy now, later it may work
    "external_failure",  # the file system, the network or another program failed
    "internal",  # the tool or ptc is at fault
)


class Code(NamedTuple):
    """The fixed facts of one error code."""

    category: str
    retryable: bool
    marker: str
    meaning: str


CODES: Final[dict[str, Code]] = {
    # --- admission: decided by the kernel before a tool runs -----------------------------------------------------
    "unknown_tool": Code("invalid_input", False, "[tool]", "no tool of that name exists in this session"),
    "tool_unavailable": Code("invalid_input", False, "[tool]", "what the tool stands on is missing in this session"),
    "tool_not_allowed": Code("permission_denied", False, "[tool]", "the tool exists, but this program may not call it"),
    "call_limit": Code("limit", False, "[tool]", "the program has made as many calls as it may"),
    "recursive_call": Code("permission_denied", False, "[tool]", "an orchestrating tool may not call itself"),
    "hook_blocked": Code("permission_denied", False, "[hook]", "a hook of the host refused the call"),
    "hook_retry_later": Code("rate_limited", True, "[hook]", "a hook of the host asked to try again later"),
    "hook_failed": Code("permission_denied", False, "[hook]", "a hook raised or was late, so the call is refused"),
    "invalid_arguments": Code("invalid_input", False, "[tool]", "the arguments do not fit the tool's schema"),
    "arguments_too_large": Code("invalid_input", False, "[tool]", "the arguments exceed the size, depth or node cap"),
    "permission_denied": Code("permission_denied", False, "[permission]", "a rule of the session's policy denies it"),
    "approval_unanswered": Code("permission_denied", False, "[approval]", "the call needs approval; nobody answered"),
    "approval_rejected": Code("permission_denied", False, "[approval]", "the approver said no"),
    "approval_failed": Code(
        "permission_denied", False, "[approval]", "the approver raised, was late or gave no answer"
    ),
    "budget_exhausted": Code("limit", False, "[budget]", "the session's budget is spent"),
    "budget_failed": Code(
        "limit", False, "[budget]", "the host's budget guard raised or was late, so the call is refused"
    ),
    "session_closed": Code("cancelled", False, "[cancelled]", "the session is closed"),
    # --- the course of a call ------------------------------------------------------------------------------------
    "timeout": Code("timeout", False, "[tool]", "the call did not end in the time it had"),
    "cancelled": Code(
        "cancelled", False, "[cancelled]", "the call was called off; if it had started, effects may exist"
    ),
    "tool_failed": Code("internal", False, "[tool]", "the tool raised an exception"),
    "output_schema_violation": Code(
        "internal", False, "[tool]", "the tool ran, but its result does not fit the schema that it declares"
    ),
    "nonzero_exit": Code("external_failure", False, "[tool]", "a command ran and ended with an exit code other than 0"),
    "invalid_result": Code(
        "internal", False, "[tool]", "the tool ran, but its result is not JSON or breaks its own schema"
    ),
    "result_too_large": Code(
        "limit", False, "[tool]", "the tool ran, but its structured result exceeds the result cap"
    ),
    # --- paths (workspace/paths.py) ------------------------------------------------------------------------------
    "workspace_path_required": Code("invalid_input", False, "[workspace]", "a path is missing or empty"),
    "workspace_unknown": Code("invalid_input", False, "[workspace]", "the path holds NUL or control characters"),
    "workspace_parent_traversal": Code("invalid_input", False, "[workspace]", "a component of the path is `..`"),
    "workspace_colon": Code("invalid_input", False, "[workspace]", "the path holds a colon"),
    "workspace_absolute_outside": Code("invalid_input", False, "[workspace]", "an absolute path outside the workspace"),
    "workspace_protected_location": Code("permission_denied", False, "[workspace]", "a protected place"),
    "workspace_symlink_escape": Code(
        "permission_denied", False, "[workspace]", "a link on the path leaves the workspace"
    ),
    "workspace_path_too_long": Code("invalid_input", False, "[workspace]", "the path or a name in it is too long"),
    "workspace_read_only": Code("permission_denied", False, "[workspace]", "the workspace cannot be written"),
    # --- files ---------------------------------------------------------------------------------------------------
    "file_not_found": Code("invalid_input", False, "[file]", "nothing exists at the path"),
    "is_a_directory": Code("invalid_input", False, "[file]", "a file was expected, a directory is there"),
    "not_a_directory": Code("invalid_input", False, "[file]", "a directory was expected, something else is there"),
    "not_a_regular_file": Code("invalid_input", False, "[file]", "a pipe, device or socket is there"),
    "file_too_large": Code("invalid_input", False, "[file]", "the file exceeds the size that the tool reads"),
    "file_access_denied": Code("external_failure", False, "[file]", "the operating system refuses access"),
    "file_changed": Code("external_failure", True, "[file]", "the file changed since it was read; nothing was written"),
    "write_offset_mismatch": Code("invalid_input", False, "[file]", "the file does not end where an append expects it"),
    "file_not_text": Code("invalid_input", False, "[file]", "the file is not UTF-8 text"),
    "offset_out_of_range": Code("invalid_input", False, "[file]", "the offset lies beyond the end"),
    "parent_missing": Code("invalid_input", False, "[file]", "the folder of the file does not exist"),
    "disk_full": Code("external_failure", False, "[file]", "no space or quota left; the old file is whole"),
    "io_error": Code("external_failure", True, "[file]", "the file system failed; the old file is whole"),
    "pattern_required": Code("invalid_input", False, "[search]", "a pattern is missing or empty"),
    "invalid_glob": Code("invalid_input", False, "[search]", "the glob pattern cannot be used"),
    "invalid_regex": Code("invalid_input", False, "[search]", "the regular expression cannot be used"),
    "edit_old_text_not_found": Code("invalid_input", False, "[edit]", "the text to replace is not in the file"),
    "edit_not_unique": Code("invalid_input", False, "[edit]", "the text to replace stands in several places"),
    "edit_count_mismatch": Code("invalid_input", False, "[edit]", "the edits replace more or fewer places than stated"),
    "edit_overlap": Code("invalid_input", False, "[edit]", "two edits touch the same text"),
    "edit_empty": Code("invalid_input", False, "[edit]", "there is no edit, or its old text is empty"),
    "edit_binary": Code("invalid_input", False, "[edit]", "the file is not UTF-8 text"),
    # --- utility tools -------------------------------------------------------------------------------------------
    "expression_invalid": Code("invalid_input", False, "[input]", "the arithmetic expression cannot be read"),
    "division_by_zero": Code("invalid_input", False, "[input]", "the expression divides by zero"),
    "number_out_of_range": Code("invalid_input", False, "[input]", "a number is too large or too small to be given"),
    "unsupported_algorithm": Code("invalid_input", False, "[input]", "the hash algorithm is none of those offered"),
    "unsupported_unit": Code("invalid_input", False, "[input]", "the unit of temperature is none of C, F and K"),
    "below_absolute_zero": Code("invalid_input", False, "[input]", "no temperature is as low as the one given"),
    "invalid_json": Code("invalid_input", False, "[input]", "the text is not strict JSON, or is nested too deeply"),
    "invalid_percent_encoding": Code("invalid_input", False, "[input]", "a % is not followed by two hex digits"),
    "invalid_utf8": Code("invalid_input", False, "[input]", "the decoded bytes are not UTF-8 text"),
    # --- the web -------------------------------------------------------------------------------------------------
    "url_invalid": Code("invalid_input", False, "[web]", "the text is no http or https URL that can be fetched"),
    "url_target_blocked": Code(
        "permission_denied", False, "[web]", "the server, its port or its address may not be reached"
    ),
    "web_robots_disallowed": Code("permission_denied", False, "[web]", "the robots.txt of the site forbids the page"),
    "web_dns_failed": Code("external_failure", True, "[web]", "the host of the URL has no address"),
    "web_connection_failed": Code("external_failure", True, "[web]", "the server cannot be reached, or broke off"),
    "web_tls_failed": Code("external_failure", False, "[web]", "the server's certificate or encryption is not good"),
    "web_redirect_failed": Code("external_failure", False, "[web]", "too many redirects, a circle, or one to no page"),
    "web_response_invalid": Code("external_failure", False, "[web]", "what the server sent is broken or cut short"),
    "response_too_large": Code("external_failure", False, "[web]", "the page has more bytes than are fetched"),
    "web_http_error": Code("external_failure", False, "[web]", "the server answered with an error status"),
    "web_not_text": Code("invalid_input", False, "[web]", "the page is not text in the form that was asked for"),
    "web_query_required": Code("invalid_input", False, "[web]", "the search query is missing or blank"),
    "web_search_failed": Code("external_failure", True, "[web]", "the search service refused or gave no result page"),
    # --- patch and git -------------------------------------------------------------------------------------------
    "patch_invalid": Code("invalid_input", False, "[patch]", "the patch cannot be read"),
    "patch_unsupported": Code("invalid_input", False, "[patch]", "the patch asks for what only git itself can do"),
    "patch_does_not_apply": Code("invalid_input", False, "[patch]", "a file is not as the patch expects it"),
    "patch_incomplete": Code("external_failure", False, "[patch]", "a patch was written in part and cannot be undone"),
    "git_not_a_repository": Code("invalid_input", False, "[git]", "the folder is in no repository of the workspace"),
    "git_ref_invalid": Code("invalid_input", False, "[git]", "a name or revision cannot be used, or does not exist"),
    "git_dirty": Code("invalid_input", False, "[git]", "uncommitted changes stand in the way"),
    "git_conflict": Code("invalid_input", False, "[git]", "the command met conflicts"),
    "git_failed": Code("external_failure", False, "[git]", "git said no for another reason"),
    "git_unavailable": Code("external_failure", False, "[git]", "the git binary is not installed"),
    # --- commands ------------------------------------------------------------------------------------------------
    "bash_argv_invalid": Code("invalid_input", False, "[bash]", "argv is no list of words that a system can start"),
    "bash_not_checkable": Code("permission_denied", False, "[bash]", "what the command line would run cannot be told"),
    "bash_policy_rejected": Code("permission_denied", False, "[bash-policy]", "the policy for commands refuses it"),
    "bash_program_not_found": Code("invalid_input", False, "[bash]", "the program does not exist in the sandbox"),
    # --- memory and history --------------------------------------------------------------------------------------
    "memory_text_required": Code("invalid_input", False, "[memory]", "the text to store or to look for is empty"),
    "memory_too_large": Code("invalid_input", False, "[memory]", "the text to store or to look for exceeds its cap"),
    "memory_full": Code("limit", False, "[memory]", "the scope's quota is reached; nothing was stored"),
    "memory_busy": Code("rate_limited", True, "[memory]", "another process holds the memory database"),
    "memory_unavailable": Code("external_failure", False, "[memory]", "the memory database cannot be used"),
    # --- batch ---------------------------------------------------------------------------------------------------
    "batch_invalid": Code(
        "invalid_input", False, "[batch]", "an id, step or reference of the batch is wrong; nothing was called"
    ),
    "batch_reference": Code("invalid_input", False, "[batch]", "a reference leads to nothing, or to too much"),
    "batch_skipped": Code("cancelled", False, "[batch]", "the call was not made, because an earlier one failed"),
    "batch_failed": Code("external_failure", False, "[batch]", "no call of the batch succeeded"),
    # --- the whole program (ProgramError.code is "program_" + kind) ----------------------------------------------
    "program_syntax": Code("invalid_input", False, "[program]", "the source is not a JavaScript module"),
    "program_entry": Code("invalid_input", False, "[program]", "the source has no usable run(ctx, inputs)"),
    "program_script": Code("invalid_input", False, "[program]", "the script threw"),
    "program_timeout": Code("timeout", False, "[program]", "the wall-clock limit passed"),
    "program_cpu": Code("limit", False, "[program]", "the CPU limit passed"),
    "program_memory": Code("limit", False, "[program]", "the heap limit passed"),
    "program_stack": Code("limit", False, "[program]", "the stack limit passed"),
    "program_output": Code("limit", False, "[program]", "the returned value cannot cross: size, depth, nodes or form"),
    "program_stalled": Code(
        "invalid_input", False, "[program]", "the script waits for a promise that nothing can settle"
    ),
    "program_cancelled": Code("cancelled", False, "[program]", "the program was called off"),
    "program_crashed": Code("internal", False, "[program]", "the VM process died or broke the protocol"),
    "program_denied": Code("permission_denied", False, "[program]", "the program was refused before it ran"),
    # --- the host's own configuration and files ------------------------------------------------------------------
    "invalid_limits": Code("invalid_input", False, "[limits]", "a limit is unknown, not an integer or out of range"),
    "invalid_policy": Code("invalid_input", False, "[policy]", "a permission rule cannot be read"),
    "invalid_tool": Code("invalid_input", False, "[tool]", "a tool definition is wrong"),
    "duplicate_tool": Code("invalid_input", False, "[tool]", "two tools have one name"),
    "invalid_inputs": Code("invalid_input", False, "[program]", "inputs must be one JSON object within the size cap"),
    "invalid_source": Code("invalid_input", False, "[program]", "the script is missing, unreadable or too large"),
    "invalid_language": Code("invalid_input", False, "[program]", "the language is not supported"),
    "invalid_workspace": Code("invalid_input", False, "[workspace]", "a workspace root does not exist or is no folder"),
    "invalid_option": Code("invalid_input", False, "[session]", "an option of the session is of the wrong kind"),
    "sandbox_unavailable": Code(
        "internal", False, "[sandbox]", "a VM process or a command cannot be locked down as asked; nothing ran"
    ),
}


def code_facts(code: str) -> Code:
    """The facts of a code. A tool author's own code, not in the table, is an external failure that is not retryable."""
    return CODES.get(code) or Code("external_failure", False, "[tool]", "a failure that the tool itself reports")
