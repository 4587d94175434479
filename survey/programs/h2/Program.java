import java.nio.file.*;
import java.sql.*;
import java.util.*;

/**
 * Insert three rows and say which is in. Arguments: "start" makes the table, "checkpoint" syncs after each, "check".
 * The properties kind and settings are of another database's URL, setting is executed before the table is made.
 */
class Program {
    static Connection open(String folder) throws SQLException {
        String kind = System.getProperty("kind", "h2:"), settings = System.getProperty("settings", "");
        return DriverManager.getConnection("jdbc:" + kind + Path.of(folder).toAbsolutePath() + "/rows" + settings, "SA", "");
    }

    static void insert(boolean checkpoint) throws SQLException {
        try (Connection database = open("data"); Statement statement = database.createStatement()) {
            for (int number = 1; number <= 3; number++) {
                statement.execute("INSERT INTO entries VALUES (" + number + ", 'row " + number + "')");
                if (checkpoint) {
                    statement.execute("CHECKPOINT SYNC");
                }
                System.out.println("inserted " + number);
            }
        }
    }

    /** The database must open and hold every row that was inserted. */
    static void check() throws Exception {
        Set<String> found = new HashSet<>();
        try (Connection database = open(System.getenv("POWERCUT_DIR")); Statement statement = database.createStatement();
                ResultSet rows = statement.executeQuery("SELECT number FROM entries")) {
            while (rows.next()) {
                found.add("inserted " + rows.getInt(1));
            }
        }
        String told = Files.readString(Path.of(System.getenv("POWERCUT_ACKED")));
        List<String> lost = new ArrayList<>(told.substring(0, told.lastIndexOf('\n') + 1).lines().toList());
        lost.removeAll(found);
        if (!lost.isEmpty()) {
            System.out.println("lost: " + lost);
            System.exit(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments.length > 0 ? arguments[0] : "") {
            case "start" -> {
                try (Connection database = open("data"); Statement statement = database.createStatement()) {
                    if (System.getProperty("setting") != null) {
                        statement.execute(System.getProperty("setting"));
                    }
                    statement.execute("CREATE TABLE entries (number INT PRIMARY KEY, text VARCHAR(20))");
                }
            }
            case "check" -> check();
            default -> insert(arguments.length > 0);
        }
    }
}
