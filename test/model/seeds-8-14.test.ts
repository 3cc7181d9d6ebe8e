import { holdSeeds } from "./seeds.ts";

holdSeeds(8, 14);
