import { testSeeds } from "./seeds.ts";

testSeeds(6, 10);
