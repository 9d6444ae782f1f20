// Lets Node.js find the explorer's modules by the names that they have in the page.
import { register } from "node:module";

register("./names.js", import.meta.url);
