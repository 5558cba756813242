/** `npm run bench -- NAME`: a table for people, then one JSON object of its figures as the last line. */
import { runByName } from './run-by-name.mjs'

await runByName('bench', 'bench')
