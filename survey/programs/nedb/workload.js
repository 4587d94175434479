// Insert three documents and say which is in. Arguments: the folder of packages, and how many.
const Datastore = require(`${process.argv[2]}/@seald-io/nedb`);

async function main(count) {
  const db = new Datastore({ filename: 'data/documents.db' });
  await db.loadDatabaseAsync();
  if (!count) await db.insertAsync({ _id: 'first', number: 0 });
  for (let number = 1; number <= count; number++) {
    await db.insertAsync({ _id: `document-${number}`, number, text: 'text '.repeat(40) });
    console.log('inserted', number);
  }
}

main(Number(process.argv[3] ?? 3));
