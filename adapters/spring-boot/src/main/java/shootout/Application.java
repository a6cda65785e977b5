package shootout;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.http.client.ClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.HttpComponentsClientHttpRequestFactoryBuilder;
import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.type.LogicalType;

@SpringBootApplication
class Application {
    private static final int UPSTREAM_CONNECTIONS = 64;

    public static void main(String[] args) {
        SpringApplication.run(Application.class, args);
    }

    /** Apache's client keeps connections alive; by default no more than 5 to one host. */
    @Bean
    HttpComponentsClientHttpRequestFactoryBuilder upstreamConnections() {
        return ClientHttpRequestFactoryBuilder.httpComponents()
                .withConnectionManagerCustomizer(manager ->
                        manager.setMaxConnPerRoute(UPSTREAM_CONNECTIONS).setMaxConnTotal(UPSTREAM_CONNECTIONS));
    }

    /** A value of another type is a mistake: Jackson would turn "2" into 2, and 7 into "7". */
    @Bean
    JsonMapperBuilderCustomizer strictTypes() {
        return mapper -> mapper
                .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
                .withCoercionConfig(LogicalType.Textual, text -> text
                        .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                        .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                        .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail));
    }
}
