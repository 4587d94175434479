// Put three entries and say which is in. Arguments: the folder of packages; how many; "flushed" waits for db.flushed.
const { open } = require(`${process.argv[2]}/lmdb`);

async function main(count) {
  const db = open({ path: 'data/db' });
  for (let number = 1; number <= count; number++) {
    await db.put(`key-${number}`, `value ${number} `.repeat(20));
    if (process.argv[4]) await db.flushed;
    console.log('put', number);
  }
  await db.close();
}

main(Number(process.argv[3] ?? 3));
