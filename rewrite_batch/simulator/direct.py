"""The synchronous endpoints: one response at once, the count of its input tokens, and the models."""

from dataclasses import dataclass

from rewrite_batch.simulator.batches import quota_error
from rewrite_batch.simulator.books import bill, new_id
from rewrite_batch.simulator.calls import Call
from rewrite_batch.simulator.jsontext import Json
from rewrite_batch.simulator.lifecycle import Lifecycle
from rewrite_batch.simulator.lines import LineRunner, http_error
from rewrite_batch.simulator.replies import ApiError, Reply
from rewrite_batch.simulator.request_body import BodyError, read_request

MODELS = ("gpt-5.2", "gpt-5.2-mini", "gpt-5.2-nano", "gpt-5.6")


@dataclass(frozen=True)
class Direct:
    life: Lifecycle

    def respond(self, call: Call) -> Reply:
        settings = self.life.settings()
        model = call.body.get("model")
        if settings.quota_exhausted(model if isinstance(model, str) else None):
            raise quota_error()
        if call.body.get("stream"):
            raise ApiError(400, "The simulator does not stream.", code="unsupported_parameter", param="stream")
        if model in settings.missing_models:
            raise ApiError(404, "The requested model does not exist.", code="model_not_found", param="model")
        now = self.life.clock.now()
        place = new_id(self.life.store, "direct_", settings.seed)
        outcome = LineRunner(self.life.phrases, settings, "direct").run(place, call.body, now, None)
        answer: Json = outcome.line["response"]
        if outcome.usage is None:
            # Status 0 exists only inside a batch's files.
            return Reply(status=answer["status_code"] or 500, payload=answer["body"] or http_error(500, {}))
        usage = outcome.usage
        tokens = (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens)
        written = (usage.output_tokens, usage.reasoning_tokens)
        who = (now, call.key_fingerprint, outcome.response_status)
        bill(self.life.store, [(None, None, outcome.response_id, model, *tokens, *written, *who)])
        return Reply(payload=answer["body"])

    def count(self, call: Call) -> Reply:
        try:
            request = read_request(call.body, needs_model=False)
        except BodyError as refused:
            return Reply(status=400, payload=refused.body)
        return Reply(payload={"object": "response.input_tokens", "input_tokens": request.prompt_tokens()})

    def models(self, _call: Call) -> Reply:
        return Reply(payload={"object": "list", "data": [self._model(name) for name in MODELS]})

    def model(self, call: Call) -> Reply:
        if call.target in self.life.settings().missing_models:
            message = f"The model '{call.target}' does not exist or you do not have access to it."
            raise ApiError(404, message, code="model_not_found", param="model")
        return Reply(payload=self._model(call.target or ""))

    def _model(self, name: str) -> Json:
        return {"id": name, "object": "model", "created": 1_765_000_000, "owned_by": "system"}
