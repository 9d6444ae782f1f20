// What this collection adds to the explorer: the panel of pair sums, and two live simulations.
import { train } from "circlet/musat/live_network";
import { simulate } from "circlet/musat/live_particles";
import { sumsPanel } from "circlet/musat/sums";

export const panels = {
  sums: {
    title: "Pair sums",
    help:
      "The sum of the places of every two numbers, which is all that the network sees of them, " +
      "with the right answer as its number. Background: the answer that the network gives there.",
    make: sumsPanel,
  },
};

export function live({ particles, network }) {
  simulate(particles);
  train(network);
}
