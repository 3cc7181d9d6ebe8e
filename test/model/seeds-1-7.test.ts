import { holdSeeds } from "./seeds.ts";

holdSeeds(1, 7);
