import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import io.vertx.json.schema.Draft;
import io.vertx.json.schema.JsonSchema;
import io.vertx.json.schema.JsonSchemaOptions;
import io.vertx.json.schema.OutputFormat;
import io.vertx.json.schema.OutputUnit;
import io.vertx.json.schema.Validator;
import java.util.SortedSet;
import java.util.TreeSet;

/** An order against order.json. Vert.x's ValidationHandler stops at the first mistake, so its validator is asked itself. */
final class Validate implements Handler<RoutingContext> {
    private final Validator validator;

    Validate(Vertx vertx) {
        var schema = vertx.fileSystem().readFileBlocking("order.json").toJsonObject();
        var options = new JsonSchemaOptions()
                .setBaseUri("app:/")
                .setDraft(Draft.DRAFT202012)
                .setOutputFormat(OutputFormat.Basic); // every mistake, in a flat list
        validator = Validator.create(JsonSchema.of(schema), options);
    }

    @Override
    public void handle(RoutingContext context) {
        var order = order(context);
        if (order == null) {
            context.fail(400);
            return;
        }
        var errors = errors(order);
        if (errors.isEmpty()) {
            context.json(new JsonObject().put("total", total(order)).put("nonce", order.getString("nonce")));
        } else {
            context.response().setStatusCode(422);
            context.json(new JsonObject().put("errors", new JsonArray(errors.stream().toList())));
        }
    }

    /** The body, or null where it is empty, no JSON, or JSON of another kind. */
    private static JsonObject order(RoutingContext context) {
        try {
            return context.body().asJsonObject();
        } catch (DecodeException | ClassCastException e) {
            return null;
        }
    }

    private SortedSet<String> errors(JsonObject order) {
        var paths = new TreeSet<String>();
        var result = validator.validate(order);
        if (!result.getValid()) {
            for (var error : result.getErrors()) {
                if (!isAbove(error)) paths.add(path(error));
            }
        }
        // The rule over two fields, where both are days: as text they sort as days do.
        boolean days = !paths.contains("from") && !paths.contains("to");
        if (days && order.getString("to").compareTo(order.getString("from")) <= 0) paths.add("to");
        return paths;
    }

    /** Whether it only says that something below is wrong, which has an error of its own. */
    private static boolean isAbove(OutputUnit error) {
        var keyword = error.getKeywordLocation();
        return keyword.endsWith("/properties") || keyword.endsWith("/items");
    }

    /** {@code #/lines/0/sku} as {@code lines.0.sku}; a missing property is named in the message alone. */
    private static String path(OutputUnit error) {
        var pointer = error.getInstanceLocation();
        if (error.getKeywordLocation().endsWith("/required")) pointer += "/" + error.getError().split("\"")[1];
        return pointer.substring(2).replace('/', '.');
    }

    private static long total(JsonObject order) {
        long total = 0;
        for (var line : order.getJsonArray("lines")) {
            var object = (JsonObject) line;
            total += object.getLong("quantity") * object.getLong("price");
        }
        return total;
    }
}
