import typer

from tests.bench.collect import collect
from tests.bench.evaluate import evaluate
from tests.bench.report import report
from tests.bench.submit import submit

app = typer.Typer(add_completion=False)
app.command()(submit)
app.command()(collect)
app.command()(evaluate)
app.command()(report)


@app.callback()
def benchmarks() -> None:
    """Speed, as ratios within one run."""


app()
