// Load the database: it is readable, the document of old is there, and every one that was inserted.
const { readFileSync } = require('node:fs');
const Datastore = require(`${process.argv[2]}/@seald-io/nedb`);

async function main() {
  const told = readFileSync(process.env.POWERCUT_ACKED, 'utf8').split('\n').slice(0, -1).map((line) => Number(line.split(' ')[1]));
  const db = new Datastore({ filename: `${process.env.POWERCUT_DIR}/documents.db` });
  await db.loadDatabaseAsync();
  const numbers = (await db.findAsync({})).map((document) => document.number);
  const lost = [0, ...told].filter((number) => !numbers.includes(number));
  if (lost.length) throw new Error(`inserted and lost: ${lost}`);
}

main().catch((error) => {
  console.log(String(error));
  process.exitCode = 1;
});
