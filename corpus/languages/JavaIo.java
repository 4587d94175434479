import java.io.*;

class JavaIo {
    static boolean fixed;

    static void sync(String path) throws IOException {
        try (var channel = java.nio.channels.FileChannel.open(java.nio.file.Path.of(path))) {
            channel.force(true);
        }
    }

    static void config() throws IOException {
        try (FileOutputStream file = new FileOutputStream("config.new")) {
            file.write("theme = dark\n".getBytes()); // LOST config
            if (fixed) file.getFD().sync();
        }
        new File("config.new").renameTo(new File("config")); // SURVIVED config
    }

    static void entry() throws IOException {
        try (FileOutputStream file = new FileOutputStream("entry.new")) {
            file.write("entry 1\n".getBytes());
            file.getFD().sync();
        }
        new File("entry.new").renameTo(new File("entry")); // LOST entry
        if (fixed) sync(".");
        System.out.println("entry"); // ACKED entry
    }

    static void table() throws IOException {
        String name = fixed ? "table.new" : "table";
        try (FileOutputStream file = new FileOutputStream(name)) { // SURVIVED table
            file.write("new new new\n".getBytes()); // LOST table
            file.getFD().sync();
        }
        if (fixed) new File(name).renameTo(new File("table"));
    }

    static void journal() throws IOException {
        PrintWriter writer = new PrintWriter(new FileWriter("journal", true));
        writer.println("paid 10");
        writer.flush(); // LOST journal
        if (fixed) sync("journal");
        System.out.println("paid"); // ACKED journal
        sync("journal");
    }

    static void order() throws IOException {
        RandomAccessFile blob = new RandomAccessFile("blob", "rw"), index = new RandomAccessFile("index", "rw");
        blob.write("blob blob\n".getBytes()); // LOST order
        if (fixed) blob.getFD().sync();
        index.write("blob at 0\n".getBytes()); // SURVIVED order
        index.getFD().sync();
        blob.getFD().sync();
    }

    public static void main(String[] args) throws IOException {
        fixed = args.length > 0 && args[0].equals("fixed");
        config();
        sync(".");
        entry();
        sync(".");
        table();
        sync(".");
        journal();
        sync(".");
        order();
    }
}
