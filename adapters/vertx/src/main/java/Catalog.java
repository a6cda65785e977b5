import static io.vertx.ext.web.validation.builder.Parameters.optionalParam;
import static io.vertx.ext.web.validation.builder.Parameters.param;
import static io.vertx.json.schema.common.dsl.Schemas.intSchema;
import static io.vertx.json.schema.common.dsl.Schemas.stringSchema;
import static io.vertx.json.schema.draft7.dsl.Keywords.minimum;
import static io.vertx.json.schema.draft7.dsl.Keywords.pattern;

import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.validation.RequestParameters;
import io.vertx.ext.web.validation.ValidationHandler;
import io.vertx.ext.web.validation.builder.ValidationHandlerBuilder;
import io.vertx.json.schema.SchemaParser;
import io.vertx.json.schema.SchemaRouter;
import io.vertx.json.schema.SchemaRouterOptions;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;

/** Filters, sorts and pages the items at every request. */
final class Catalog implements Handler<RoutingContext> {
    private static final int PAGE_SIZE = 20;
    private static final Pattern SORT = Pattern.compile("^price$");
    private static final Comparator<JsonObject> BY_PRICE = Comparator
            .<JsonObject>comparingInt(item -> item.getInteger("price"))
            .thenComparingInt(item -> item.getInteger("id"));

    private final List<JsonObject> items;

    Catalog(Vertx vertx) {
        var file = vertx.fileSystem().readFileBlocking("data/catalog/items.json");
        items = file.toJsonArray().stream().map(JsonObject.class::cast).toList();
    }

    /** Refuses with 400 what is missing or of another form. */
    static ValidationHandler parameters(Vertx vertx) {
        var parser = SchemaParser.createDraft7SchemaParser(SchemaRouter.create(vertx, new SchemaRouterOptions()));
        return ValidationHandlerBuilder.create(parser)
                .queryParameter(param("category", stringSchema()))
                .queryParameter(param("max_price", intSchema().with(minimum(1))))
                .queryParameter(optionalParam("sort", stringSchema().with(pattern(SORT))))
                .queryParameter(param("page", intSchema().with(minimum(1))))
                .queryParameter(param("nonce", stringSchema()))
                .build();
    }

    @Override
    public void handle(RoutingContext context) {
        RequestParameters parameters = context.get(ValidationHandler.REQUEST_CONTEXT_KEY);
        var category = parameters.queryParameter("category").getString();
        long maxPrice = parameters.queryParameter("max_price").getLong();
        long page = parameters.queryParameter("page").getLong();

        var found = items.stream()
                .filter(item -> item.getString("category").equals(category) && item.getInteger("price") <= maxPrice)
                .sorted(BY_PRICE)
                .toList();
        var shown = found.stream().skip((page - 1) * PAGE_SIZE).limit(PAGE_SIZE).toList();
        context.json(new JsonObject()
                .put("total", found.size())
                .put("page", page)
                .put("items", new JsonArray(shown))
                .put("nonce", parameters.queryParameter("nonce").getString()));
    }
}
