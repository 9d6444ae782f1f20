// What this collection adds to the explorer: the panel of pair sums, and two live simulations.
import { train } from "circlet/musat/live_network";
import { simulate } from "circlet/musat/live_particles";
import { sumsPanel } from "circlet/musat/sums";

export const panels = { sums: { title: "Pair sums", make: sumsPanel } };

export function live({ particles, network }) {
  simulate(particles);
  train(network);
}
