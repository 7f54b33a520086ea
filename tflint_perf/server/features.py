"""What the editor tells and asks, each by its name in the protocol."""

from __future__ import annotations

from functools import partial

from lsprotocol import types

from tflint_perf.errors import EditError, SourceError
from tflint_perf.server import actions
from tflint_perf.server.hovering import hover
from tflint_perf.server.preferences import SECTION
from tflint_perf.server.service import CONFIGURATION, Server


def register(server: Server) -> None:
    """Make the server answer."""
    _register_session(server)
    _register_documents(server)
    _register_notebooks(server)
    _register_questions(server)


def _register_session(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.documents.codec = server.workspace.position_codec
        if folders := server.folders():
            server.documents.folder = folders[0]
        server.prefer(params.initialization_options)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        if server.supports("workspace.did_change_configuration.dynamic_registration"):
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            registration = types.Registration("tflint-perf-settings", method, {"section": SECTION})
            server.client_register_capability(types.RegistrationParams([registration]))
        if server.supports("workspace.did_change_watched_files.dynamic_registration"):
            watchers = [types.FileSystemWatcher(pattern) for pattern in CONFIGURATION]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registration = types.Registration("tflint-perf-configuration", method, options)
            server.client_register_capability(types.RegistrationParams([registration]))
        if await _ask_for_settings(server):
            server.refresh_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        server.refresh_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configuration_changed(params: types.DidChangeConfigurationParams) -> None:
        if not await _ask_for_settings(server) and params.settings:
            server.prefer(params.settings)
        server.refresh_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.refresh_all()

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.stop()


def _register_documents(server: Server) -> None:
    documents = server.documents

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        documents.open([params.text_document])
        server.refresh(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        documents.change(params.text_document, params.content_changes)
        server.typed(documents.whole(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.refresh(uri)
        server.refresh_all(but=uri)  # they are linted with what lies on disk beside them

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        documents.close([params.text_document.uri])
        server.clear([params.text_document.uri])


def _register_notebooks(server: Server) -> None:
    documents = server.documents

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenNotebookDocumentParams) -> None:
        documents.open_notebook(params)
        server.refresh(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeNotebookDocumentParams) -> None:
        server.clear(documents.change_notebook(params))
        server.typed(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveNotebookDocumentParams) -> None:
        server.refresh(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        server.forget(uri)
        server.clear(documents.close_notebook(uri))


def _register_questions(server: Server) -> None:
    options = types.CodeActionOptions(code_action_kinds=actions.KINDS, resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await _actions(server, params)

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        data = action.data
        if isinstance(data, dict):
            action.edit = await _edit(server, data["uri"], data["number"], data["what"], data["index"])
        return action

    asked = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False)

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, asked)
    async def diagnostics(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        number, items = await server.shown(server.documents.whole(uri), uri)
        if number and number == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(number)
        return types.RelatedFullDocumentDiagnosticReport(items, result_id=number or None)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        known = await server.current(server.documents.whole(uri))
        if known is None:
            return None
        markdown = server.supports("text_document.hover.content_format", types.MarkupKind.Markdown)
        return hover(known.linted, uri, params.position, markdown)


async def _ask_for_settings(server: Server) -> bool:
    """Get the settings from an editor that can be asked for them; whether it had some."""
    if not server.supports("workspace.configuration"):
        return False
    params = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
    (given,) = await server.workspace_configuration_async(params)
    if given is not None:
        server.prefer(given)
    return given is not None


async def _actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    uri = params.text_document.uri
    whole = server.documents.whole(uri)
    known = await server.current(whole)
    if known is None:
        return []
    disabled = server.supports("text_document.code_action.disabled_support")
    later = server.supports("text_document.code_action.resolve_support.properties", "edit")
    made = []
    for offer in actions.offers(known.linted, uri, params.range, params.context.only, disabled):
        action = actions.action(known.linted, offer)
        if offer.refusal:
            made.append(action)
            continue
        if later:
            action.data = actions.packed(offer, whole, known.number)
        else:
            action.edit = await _edit(server, whole, known.number, offer.what, offer.index)
        if later or action.edit is not None:
            made.append(action)
    return made


async def _edit(
    server: Server, uri: str, number: int, what: actions.What, index: int
) -> types.WorkspaceEdit | None:
    """The edit of an action; None where it can't be made, or the document has changed."""
    linted = server.known(uri, number)
    if linted is None:
        return None
    versioned = server.supports("workspace.workspace_edit.document_changes")
    try:
        return await server.work(partial(actions.edit, linted, what, index, versioned))
    except (EditError, SourceError) as error:
        server.log(types.MessageType.Warning, f"{linted.snapshot.path}: no fix: {error}")
        return None
