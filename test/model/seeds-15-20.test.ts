import { holdSeeds } from "./seeds.ts";

holdSeeds(15, 20);
