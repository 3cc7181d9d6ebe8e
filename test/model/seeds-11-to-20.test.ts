import { testSeeds } from "./seeds.ts";

testSeeds(11, 20);
