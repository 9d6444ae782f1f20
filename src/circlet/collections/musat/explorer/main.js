// What this collection adds to the explorer: panels of pair sums and of answers, and two live
// simulations.
import { answersPanel, HELP } from "circlet/answers";
import { train } from "circlet/musat/live_network";
import { simulate } from "circlet/musat/live_particles";
import { answersTo } from "circlet/musat/network";
import { sumsPanel } from "circlet/musat/sums";
import { panels as common } from "circlet/panels";

/** The answers of a run at a step: of the network and the embedding that are logged there. */
function answersAt(/** @type {Scene} */ scene, step) {
  const weights = scene.weights(step);
  return weights && scene.once(`answers at ${step}`, () => answersTo(weights, scene.p));
}

/** @type {Record<string, PanelMaker>} */
export const panels = {
  sums: {
    title: "Pair sums",
    help:
      "The sum of the embeddings of every two numbers, with its right answer as a number or a " +
      "colour. The background, if any, is the network's answer at each point.",
    make: sumsPanel,
  },
  answers: {
    title: "Answers",
    help: HELP,
    make: answersPanel("output.bias", answersAt),
  },
};

export function live({ particles, network }) {
  simulate(particles);
  const { embedding } = common;
  train(network, { embedding, ...panels });
}
