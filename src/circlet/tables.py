"""Columns of every table of ``results/tables``, beyond the keys of runs and points.

Accuracies are shares in 0..1 in rows of runs, and per cent where a published table prints per
cent. ``x_low`` and ``x_high`` are the ends of the 95 % interval of ``x``.
"""

import pyarrow as pa

from circlet.schema import EMBEDDING, FREQUENCY, OUTCOME, SEED, SEEDS, STEP, column

_EXPERIMENT = column("experiment", pa.string(), "name in the config")
_COUNTS = [
    column("n_runs", pa.int32(), "finished runs behind the row"),
    column("n_planned", pa.int32(), "runs planned"),
]


def _estimate(name: str, meaning: str, unit: str = "") -> list[pa.Field]:
    return [
        column(name, pa.float64(), meaning, unit),
        column(f"{name}_low", pa.float64(), f"{name}: lower end of the 95 % interval", unit),
        column(f"{name}_high", pa.float64(), f"{name}: upper end of the 95 % interval", unit),
        column(f"{name}_n", pa.int32(), f"{name}: runs behind it"),
    ]


_SAMPLE = column("sample", pa.string(), "first_100 (as many as the paper has) or all seeds")

_STRUCTURE = [
    *_estimate("circles", "runs that end as circles"),
    *_estimate("circle_accuracy", "mean validation accuracy of circles", "%"),
    *_estimate("non_circles", "runs that do not"),
    *_estimate("non_circle_accuracy", "mean validation accuracy of non-circles", "%"),
    *_estimate("imperfections", "mean imperfections of non-circles"),
    *_estimate("correlation", "Pearson r of imperfections and accuracy of non-circles"),
    *_COUNTS,
]

TABLES: dict[str, list[pa.Field]] = {
    "runs": [*OUTCOME, column("commit", pa.string(), "version of the code that made it")],
    "provenance": [
        column("system", pa.string(), "what was trained or simulated"),
        column("commit", pa.string(), "commit of the code; -dirty if it was edited since"),
        column(
            "versions", pa.string(), "versions of Python and of the packages that decide numbers"
        ),
        column("machine", pa.string(), "system, architecture and cores"),
        column("device", pa.string(), "cpu, or the name of the GPU"),
        column("blocks", pa.int32(), "blocks made so"),
        column("runs", pa.int32(), "runs in them"),
        column("hours", pa.float64(), "computing time of the runs, on one core or GPU", "h"),
        column("interruptions", pa.int32(), "how often they went on from a checkpoint"),
    ],
    "structures": [
        SEED,
        column("norm_ratio", pa.float64(), "largest over smallest norm of an embedding vector"),
        column("is_circle", pa.bool_(), "norm_ratio < 1.2 (algorithm 1)"),
        column("imperfections", pa.int32(), "pairs whose nearest pair sum has another class"),
        column("validation_accuracy", pa.float64(), "null for particles", "0..1"),
    ],
    "structure_summary": [
        column("dtype", pa.string(), "float32 or float64"),
        _SAMPLE,
        *_STRUCTURE,
    ],
    "table1": [
        column("weight_decay", pa.float64(), "decoupled weight decay"),
        _SAMPLE,
        *_STRUCTURE,
    ],
    "table2": [
        column("f_a", pa.float64(), "strength of the alignment force"),
        _SAMPLE,
        *_estimate("circles", "runs that end as circles"),
        *_estimate("grids", "runs that do not"),
        *_estimate("imperfections", "mean imperfections of grids"),
        *_COUNTS,
    ],
    "embeddings": [
        SEED,
        *EMBEDDING,
    ],
    "weight_magnitudes": [
        SEED,
        column("layer", pa.string(), "hidden or output"),
        column("mean_abs_weight", pa.float64(), "mean absolute weight of the layer"),
        column("mean_abs_bias", pa.float64(), "mean absolute bias of the layer"),
    ],
    "weight_magnitude_means": [
        column("weight_decay", pa.float64(), "decoupled weight decay"),
        column("layer", pa.string(), "hidden or output"),
        *_estimate("mean_abs_weight", "mean over runs"),
        *_estimate("mean_abs_bias", "mean over runs"),
        *_COUNTS,
    ],
    "exemplars": [
        column("role", pa.string(), "table1 or table2: which experiment it was chosen from"),
        column("structure", pa.string(), "circle, grid or imperfect_grid"),
        column("norm_ratio", pa.float64(), "as in structures"),
        column("imperfections", pa.int32(), "as in structures"),
        column("validation_accuracy", pa.float64(), "as in structures", "0..1"),
    ],
    "classifier_maps": [
        column("x", pa.float32(), "first coordinate in the plane of pair sums"),
        column("y", pa.float32(), "second coordinate"),
        column("predicted", pa.int16(), "class with the largest score there"),
        column("in_gallery", pa.bool_(), "whether the run is one of the gallery's"),
    ],
    "pair_sums": [
        column("a", pa.int16(), "smaller number of the pair"),
        column("b", pa.int16(), "larger number of the pair"),
        column("x", pa.float32(), "first coordinate of E_a + E_b"),
        column("y", pa.float32(), "second coordinate"),
        column("target", pa.int16(), "(a + b) mod p"),
        column("train", pa.bool_(), "whether the pair was trained on"),
    ],
    "musat_claims": [
        column("claim", pa.string(), "identifier of the claim"),
        *_estimate(
            "effect", "positive if the claim holds; its unit is in analysis/musat_claims.py"
        ),
        column("n_planned", pa.int32(), "runs planned at these points"),
    ],
    "survival": [
        *SEEDS,
        FREQUENCY,
        column("initial_signal", pa.float64(), "signal at step 0"),
        column("initial_gradient", pa.float64(), "change of the signal in step 4 / initial signal"),
        column("early_gradients", pa.list_(pa.float64()), "the same in steps 1, 2, 3, 4"),
        column("final_signal", pa.float64(), "signal at the last step"),
        column("circularity", pa.float64(), "at step 0 (equation 5)", "0..1"),
        column("survived", pa.bool_(), "rule A: final signal > 2 x mean over all p frequencies"),
        column("survived_absolute", pa.bool_(), "rule B: final signal > 10"),
    ],
    "circle_counts": [
        *SEEDS,
        column("n_circles", pa.int32(), "frequencies that survive by rule A"),
        column("n_circles_absolute", pa.int32(), "frequencies that survive by rule B"),
        column("n_frequencies", pa.int32(), "frequencies there are, (p-1)//2"),
        column("mean_circularity", pa.float64(), "over frequencies, at step 0", "0..1"),
        column("max_circularity", pa.float64(), "over frequencies, at step 0", "0..1"),
        column("test_loss", pa.float64(), "at the last step", "nat"),
        column("test_accuracy", pa.float64(), "at the last step", "0..1"),
    ],
    "circle_summary": [
        *_estimate("circles", "mean number of circles (rule A)"),
        *_estimate("circles_absolute", "mean number of circles by rule B"),
        *_estimate("mean_circularity", "mean over runs of mean_circularity"),
        *_estimate("max_circularity", "mean over runs of max_circularity"),
        *_estimate("test_accuracy", "mean over runs", "0..1"),
        column("n_frequencies", pa.int32(), "frequencies there are, (p-1)//2"),
        *_COUNTS,
    ],
    "survival_rates": [
        _EXPERIMENT,
        column("embedding_seed", pa.int64(), "seed of the initial embedding"),
        FREQUENCY,
        column("initial_signal", pa.float64(), "signal at step 0"),
        *_estimate("rate", "share of the embedding's runs in which it survives", "0..1"),
        *_COUNTS,
    ],
    "perturbed_rates": [
        _EXPERIMENT,
        column("embedding_seed", pa.int64(), "seed of the initial embedding"),
        FREQUENCY,
        column("factor", pa.float64(), "what its signal was multiplied by"),
        column("initial_signal", pa.float64(), "its signal at step 0, scaled"),
        column("deviation", pa.float64(), "that minus the mean of the other signals"),
        *_estimate("rate", "share of runs in which it survives", "0..1"),
        *_COUNTS,
    ],
    "constructed_rates": [
        _EXPERIMENT,
        column("ratio", pa.float64(), "initial signal of the second frequency by the first's"),
        *_estimate("first", "share of runs in which the first survives", "0..1"),
        *_estimate("second", "share of runs in which the second survives", "0..1"),
        *_estimate("revived", "share of runs in which any other comes to life", "0..1"),
        *_COUNTS,
    ],
    "gradient_rates": [
        _EXPERIMENT,
        STEP,
        column("bin_low", pa.float64(), "lower end of the bin of relative gradients"),
        column("bin_high", pa.float64(), "upper end"),
        column("rule", pa.string(), "of survival, A or B"),
        *_estimate("rate", "share of the frequencies in the bin that survive", "0..1"),
        *_COUNTS,
    ],
    "survival_classifiers": [
        _EXPERIMENT,
        column(
            "features", pa.string(), "signal, gradient, both, circularity, or signal_circularity"
        ),
        column("rule", pa.string(), "of survival, A or B"),
        *_estimate("accuracy", "linear SVM on a fifth of the rows that it was not fitted to", "%"),
        *_estimate("majority", "accuracy of always saying that it dies, on the same fifth", "%"),
        *_estimate("gain", "the first minus the second, in points of per cent", "%"),
        *_estimate("auc", "area under the ROC curve, whole embeddings held out", "0..1"),
        column("n_embeddings", pa.int32(), "embeddings that are held out in turn"),
        *_COUNTS,
    ],
    "losses": [
        *SEEDS,
        STEP,
        column("train_loss", pa.float32(), "mean cross-entropy on the train set", "nat"),
        column("test_loss", pa.float32(), "mean cross-entropy on the test set", "nat"),
    ],
    "frozen_losses": [
        _EXPERIMENT,
        column("d", pa.int32(), "embedding dimension"),
        column("p", pa.int32(), "modulus"),
        STEP,
        *_estimate("test_loss", "mean over runs", "nat"),
        *_COUNTS,
    ],
    "circle_ablations": [
        *SEEDS,
        STEP,
        column("n_kept", pa.int16(), "circles that are kept; 0: nothing is removed"),
        column("kept", pa.list_(pa.int16()), "their frequencies"),
        column("loss", pa.float64(), "mean cross-entropy on all p^2 pairs", "nat"),
    ],
    "trajectories": [
        *SEEDS,
        STEP,
        FREQUENCY,
        column("signal", pa.float64(), "norm of F_k, if logged"),
        column("gradient", pa.float64(), "norm of the Fourier coefficient of dL/dE, if logged"),
        column("survived", pa.bool_(), "rule A, at the end"),
    ],
    "projections": [
        *SEEDS,
        STEP,
        column("view", pa.string(), "fourier or pca"),
        column("index", pa.int16(), "the frequency, or the first of two principal components"),
        column("rank", pa.int16(), "0 for the strongest final signal or component"),
        column("survived", pa.bool_(), "of frequencies: rule A, at the end"),
        column("delta", pa.int16(), "step between neighbours on the circle, 1/k mod p"),
        column("token", pa.int16(), "number that the point stands for"),
        column("x", pa.float64(), "along Re F_k, or the first component"),
        column("y", pa.float64(), "along Im F_k, or the second"),
    ],
    "ode_fits": [
        *SEEDS,
        column("method", pa.string(), "least_squares, lasso or quadratic"),
        column("alpha", pa.float64(), "strength of the Lasso; 0 for the others"),
        column("status", pa.string(), "fitted, or too_few_steps"),
        column("n_steps", pa.int32(), "steps fitted, at most 1000, each one logged"),
        column("r2", pa.float64(), "R^2 of the one-step differences that it was fitted to"),
        column("r2_heldout", pa.float64(), "the same on other runs of the point: their median"),
        column("rollout_error", pa.float64(), "root mean square error of the rollout"),
        column("analytic_error", pa.float64(), "of the analytic solution (equation 4)"),
        column("mean_signal", pa.float64(), "mean signal over the steps, to compare errors with"),
        column("nonzero", pa.float64(), "share of coefficients that are not zero", "0..1"),
        column("converged", pa.bool_(), "whether the Lasso reached its minimum"),
        column("stability", pa.float64(), "largest real part of the eigenvalues of A", "1/step"),
        column("growth", pa.float64(), "largest |1 + eigenvalue|: above 1 a rollout grows"),
    ],
    "ode_path": [
        *SEEDS,
        column("alpha", pa.float64(), "strength of the Lasso"),
        column("r2", pa.float64(), "as in ode_fits"),
        column("r2_heldout", pa.float64(), "as in ode_fits"),
        column("rollout_error", pa.float64(), "as in ode_fits"),
        column("mean_signal", pa.float64(), "as in ode_fits"),
        column("nonzero", pa.float64(), "as in ode_fits", "0..1"),
        column("converged", pa.bool_(), "as in ode_fits"),
    ],
    "ode_coefficients": [
        *SEEDS,
        column("method", pa.string(), "least_squares or lasso"),
        column("target", pa.int16(), "frequency whose signal changes"),
        column("source", pa.int16(), "frequency that it depends on; 0: the constant"),
        column("coefficient", pa.float64(), "change per step and unit of the source's signal"),
    ],
    "ode_trajectories": [
        *SEEDS,
        FREQUENCY,
        STEP,
        column("survived", pa.bool_(), "rule A, at the end"),
        column("signal", pa.float64(), "as logged"),
        column("least_squares", pa.float64(), "rollout of the least-squares fit"),
        column("lasso", pa.float64(), "rollout of the Lasso fit"),
        column("analytic", pa.float64(), "analytic solution with the Lasso's coefficients"),
    ],
    "ode_summary": [
        _EXPERIMENT,
        column("d", pa.int32(), "embedding dimension"),
        column("method", pa.string(), "least_squares, lasso or quadratic"),
        *_estimate("r2", "mean over runs"),
        *_estimate("nonzero", "mean over runs, per cent of the coefficients", "%"),
        column("r2_heldout", pa.float64(), "median over runs"),
        column("relative_rollout_error", pa.float64(), "median over runs, by the mean signal"),
        *_estimate("unstable", "runs whose rollout grows without bound (growth > 1)"),
        *_COUNTS,
    ],
    "forecast": [
        _EXPERIMENT,
        column("weight_decay", pa.float64(), "decoupled weight decay"),
        STEP,
        column("auc", pa.float64(), "area under the ROC curve, whole embeddings held out", "0..1"),
        column("low", pa.float64(), "lower end of its 95 % interval", "0..1"),
        column("high", pa.float64(), "upper end", "0..1"),
        column("n_embeddings", pa.int32(), "embeddings that are scored, each held out"),
        *_COUNTS,
    ],
    "forecast_milestones": [
        _EXPERIMENT,
        column("weight_decay", pa.float64(), "decoupled weight decay"),
        column("threshold", pa.float64(), "area under the ROC curve", "0..1"),
        *_estimate("step", "first step from which on the AUC stays above it; null: never"),
        *_COUNTS,
    ],
    "precision": [
        *SEEDS,
        column("arithmetic", pa.string(), "dtype and residual, as float32 exact"),
        column("n_circles", pa.int32(), "rule A"),
        column("lost", pa.int32(), "circles of the float64 run of the same seed that died"),
        column("gained", pa.int32(), "circles that the float64 run has not"),
        column("late_spike", pa.float64(), "largest train loss in the last third", "nat"),
        column("train_loss", pa.float64(), "at the last step", "nat"),
        column("test_loss", pa.float64(), "at the last step", "nat"),
        column("seconds", pa.float64(), "computing time", "s"),
    ],
    "ding_claims": [
        column("claim", pa.string(), "identifier of the claim"),
        *_estimate("effect", "positive if the claim holds; its unit is in the claim's function"),
        *_COUNTS,
    ],
    "scorecard": [
        column("claim", pa.string(), "identifier of the claim"),
        column("paper", pa.string(), "musat, ..."),
        column("source", pa.string(), "table, figure or section"),
        column("statement", pa.string(), "what is claimed"),
        column("published", pa.float64(), "published value; null if the claim is in words"),
        column("measured", pa.float64(), "our value"),
        column("low", pa.float64(), "lower end of its 95 % interval"),
        column("high", pa.float64(), "upper end of its 95 % interval"),
        column("n_runs", pa.int32(), "runs behind the value, as the circles behind their accuracy"),
        column("n_planned", pa.int32(), "runs planned at these points"),
        column("verdict", pa.string(), "reproduced, deviates or not_run"),
        *_estimate("difference", "measured - published, with the noise of both samples")[:3],
        column(
            "note",
            pa.string(),
            "why it was not run, or how its runs differ",
        ),
        column("table", pa.string(), "table that the measured value is in"),
        column("where", pa.string(), "its row"),
        column("column", pa.string(), "its column"),
    ],
}


def names(table: str) -> list[str]:
    """Names of a table's columns beyond its keys."""
    return [field.name for field in TABLES[table]]
