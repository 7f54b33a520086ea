"""What becomes of datasets: the stages that they are made of, where their elements are taken, and who makes batches by hand.

*Stage*: one call of a chain, `.map(f)`. *Pipeline*: the stages of a dataset, in their order. *Consumption*: a place that
takes its elements to train or to infer.

    pipelines.consumptions()
    stages.before(call)
"""
