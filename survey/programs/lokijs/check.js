// Load the database: it is readable, and every document that was saved is there.
const { readFileSync } = require('node:fs');
const Loki = require(`${process.argv[2]}/lokijs`);

const told = readFileSync(process.env.POWERCUT_ACKED, 'utf8').split('\n').slice(0, -1).map((line) => Number(line.split(' ')[1]));
const db = new Loki(`${process.env.POWERCUT_DIR}/db.json`);
db.loadDatabase({}, (error) => {
  const numbers = error ? [] : (db.getCollection('documents')?.data ?? []).map((document) => document.number);
  const lost = [0, ...told].filter((number) => !numbers.includes(number));
  if (error || lost.length) console.log(error ? `not readable: ${error}` : `saved and lost: ${lost}`);
  process.exitCode = error || lost.length ? 1 : 0;
});
