// Open the database: every entry can be read, and those that were told are there.
const { readFileSync } = require('node:fs');
const { open } = require(`${process.argv[2]}/lmdb`);

async function main() {
  const told = readFileSync(process.env.POWERCUT_ACKED, 'utf8').split('\n').slice(0, -1).map((line) => Number(line.split(' ')[1]));
  const db = open({ path: `${process.env.POWERCUT_DIR}/db` });
  const entries = new Map(Array.from(db.getRange(), ({ key, value }) => [key, value]));
  const lost = told.filter((number) => entries.get(`key-${number}`) !== `value ${number} `.repeat(20));
  await db.close();
  if (lost.length) throw new Error(`told and lost: ${lost}`);
}

main().catch((error) => {
  console.log(String(error));
  process.exitCode = 1;
});
